#include "pipeline/document.h"

#include <cstring>

#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

// Code points of one width to UTF-8. Returns the bytes written; at a surrogate that is not to be
// replaced it stops there and `fault` is its place among the characters.
template <typename Char>
std::size_t encode_utf8(const Char* from, std::size_t size, bool replace, std::uint8_t* out,
                        std::size_t& fault) {
    std::uint8_t* at = out;
    for (std::size_t i = 0; i < size; ++i) {
        std::uint32_t code = from[i];
        if (code < 0x80) {
            *at++ = static_cast<std::uint8_t>(code);
            continue;
        }
        if (code >= 0xD800 && code < 0xE000) {
            if (!replace) {
                fault = i;
                break;
            }
            code = kReplacement;
        }
        at += unicode::append_code(code, at);
    }
    return static_cast<std::size_t>(at - out);
}

std::size_t utf8_factor(Text::Kind kind) noexcept {
    switch (kind) {
        case Text::Kind::Utf8:
        case Text::Kind::Trusted:
            return 1;
        case Text::Kind::Latin1:
            return 2;
        case Text::Kind::Ucs2:
            return 3;
        case Text::Kind::Ucs4:
            return 4;
    }
    return 4;
}

}  // namespace

std::size_t DocumentReader::bound_of(const Model& model, const Text& text) noexcept {
    return utf8_factor(text.kind) * text.size + model.prefix_.size() + model.suffix_.size() + 1;
}

std::uint8_t* DocumentReader::take_memory(std::size_t size) {
    if (own_ == nullptr) {
        return worker_.take_scratch(size);
    }
    own_->emplace_back(size);
    return own_->back().data();
}

Bytes DocumentReader::transcode(const Text& text, std::size_t document) {
    std::uint8_t* out = take_memory(utf8_factor(text.kind) * text.size + 1);
    std::size_t fault = Error::kNowhere;
    std::size_t size = 0;
    const bool replace = options_.replace_invalid;
    switch (text.kind) {
        case Text::Kind::Latin1:
            size = encode_utf8(static_cast<const std::uint8_t*>(text.data), text.size, replace, out,
                               fault);
            break;
        case Text::Kind::Ucs2:
            size = encode_utf8(static_cast<const std::uint16_t*>(text.data), text.size, replace,
                               out, fault);
            break;
        default:
            size = encode_utf8(static_cast<const std::uint32_t*>(text.data), text.size, replace,
                               out, fault);
            break;
    }
    if (fault != Error::kNowhere) {
        throw Error(
            ErrorCode::InvalidUtf8,
            "character " + std::to_string(fault) + " is a lone surrogate, which has no UTF-8", size,
            document);
    }
    return {out, size};
}

Bytes DocumentReader::utf8_of(const Text& text, std::size_t document) {
    if (text.kind != Text::Kind::Utf8 && text.kind != Text::Kind::Trusted) {
        return transcode(text, document);
    }
    const Bytes bytes(static_cast<const std::uint8_t*>(text.data), text.size);
    if (text.kind == Text::Kind::Trusted || bytes.empty() ||
        worker_.kernel.is_utf8(bytes.data(), bytes.data() + bytes.size())) {
        return bytes;
    }
    const unicode::Fault fault = unicode::find_fault(bytes);
    if (!options_.replace_invalid) {
        throw Error(ErrorCode::InvalidUtf8,
                    "expected UTF-8, got byte " + std::to_string(bytes[fault.offset]), fault.offset,
                    document);
    }
    std::vector<std::uint8_t> repaired;
    unicode::append_repaired(bytes, repaired);
    std::uint8_t* out = take_memory(repaired.size() + 1);
    std::memcpy(out, repaired.data(), repaired.size());
    return {out, repaired.size()};
}

void DocumentReader::encode(const Text& text, std::size_t document) {
    read(text, document);
    worker_.end_document();
}

void DocumentReader::list_items(const Text& text, std::size_t document,
                                std::vector<std::vector<std::uint8_t>>& own,
                                std::vector<Item>& items) {
    own_ = &own;
    items_ = &items;
    read(text, document);
    own_ = nullptr;
    items_ = nullptr;
}

void DocumentReader::read(const Text& text, std::size_t document) {
    document_ = document;
    at_start_ = true;
    const Bytes bytes = utf8_of(text, document);
    if (options_.add_special_tokens) {
        for (const TokenId id : model_.prefix_) {
            put_id(id);
        }
    }
    const std::uint8_t* readable = bytes.data() + bytes.size();
    const split::AddedView& added = model_.added_;
    if (added.raw.empty()) {
        read_raw_segment(bytes, readable);
    } else {
        const std::uint32_t skip =
            options_.special == SpecialMode::AsText ? std::uint32_t{split::kSpecial} : 0U;
        worker_.segments.clear();
        added.find_added_tokens(added.raw, bytes, skip, worker_.kernel.find_candidate,
                                worker_.segments);
        for (const split::Segment& segment : worker_.segments) {
            const Bytes part = bytes.subspan(segment.begin, segment.end - segment.begin);
            if (segment.token == 0) {
                read_raw_segment(part, readable);
            } else {
                put_token(segment.token, bytes, segment);
            }
        }
    }
    if (options_.add_special_tokens) {
        for (const TokenId id : model_.suffix_) {
            put_id(id);
        }
    }
}

// Text between the tokens of the raw document: normalized, then searched for the others.
void DocumentReader::read_raw_segment(Bytes text, const std::uint8_t* readable) {
    if (!normalize::is_identity(model_.normalizer_, text)) {
        normalize::run(model_.normalizer_, text, worker_.normalized);
        const std::size_t size = worker_.normalized.size();
        std::uint8_t* out = take_memory(size + 1);
        std::memcpy(out, worker_.normalized.data(), size);
        text = {out, size};
        readable = out + size;
    }
    const split::AddedView& added = model_.added_;
    if (added.normal.empty()) {
        read_range(text, readable);
        return;
    }
    const std::uint32_t skip =
        options_.special == SpecialMode::AsText ? std::uint32_t{split::kSpecial} : 0U;
    worker_.inner_segments.clear();
    added.find_added_tokens(added.normal, text, skip, worker_.kernel.find_candidate,
                            worker_.inner_segments);
    for (const split::Segment& segment : worker_.inner_segments) {
        if (segment.token == 0) {
            read_range(text.subspan(segment.begin, segment.end - segment.begin), readable);
        } else {
            put_token(segment.token, text, segment);
        }
    }
}

void DocumentReader::read_range(Bytes text, const std::uint8_t* readable) {
    const bool is_first = at_start_;
    at_start_ = false;
    if (text.empty()) {
        return;
    }
    const bool wants_blank = model_.prefix_space_ == PrefixSpace::Always ||
                             (model_.prefix_space_ == PrefixSpace::First && is_first);
    if (wants_blank && text[0] != ' ') {
        std::uint8_t* out = take_memory(text.size() + 1);
        out[0] = ' ';
        std::memcpy(out + 1, text.data(), text.size());
        text = {out, text.size() + 1};
        readable = out + text.size();
    }
    const std::uint8_t* end = text.data() + text.size();
    if (items_ != nullptr) {
        items_->push_back({text.data(), end, end, readable, 0, false});
        return;
    }
    worker_.reserve(text.size());
    worker_.kernel.encode_range(worker_, text.data(), end, end, readable);
}

void DocumentReader::put_token(std::uint32_t token, Bytes document, const split::Segment& where) {
    at_start_ = false;
    const split::AddedToken& added = model_.added_.tokens[token - 1];
    if (options_.special == SpecialMode::Raise && (added.flags & split::kSpecial) != 0) {
        const std::string text(document.begin() + static_cast<std::ptrdiff_t>(where.begin),
                               document.begin() + static_cast<std::ptrdiff_t>(where.end));
        throw Error(ErrorCode::SpecialInText, text, where.begin, document_);
    }
    put_id(added.id);
}

void DocumentReader::put_id(TokenId id) {
    if (items_ != nullptr) {
        items_->push_back({nullptr, nullptr, nullptr, nullptr, id, true});
        return;
    }
    worker_.reserve(1);
    worker_.add_id(id);
}

}  // namespace tokenmill::pipeline
