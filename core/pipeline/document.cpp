#include "pipeline/document.h"

#include <algorithm>
#include <cstring>

#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
constexpr std::size_t kLongestSpan = 0xFFFFFFFF;

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
        if (is_surrogate(code)) {
            if (!replace) {
                fault = i;
                break;
            }
            code = kReplacement;
        }
        at += encode_char(code, at);
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
                                std::vector<std::vector<std::uint8_t>>& own, SpanSource& source,
                                std::vector<Item>& items) {
    own_ = &own;
    source_ = &source;
    items_ = &items;
    read(text, document);
    own_ = nullptr;
    source_ = nullptr;
    items_ = nullptr;
}

void DocumentReader::read(const Text& text, std::size_t document) {
    document_ = document;
    at_start_ = true;
    const Bytes bytes = utf8_of(text, document);
    keeps_parts_ = normalize::keeps_parts(model_.rewriter_, bytes);
    if (has_spans()) {
        open_source(bytes);
    }
    if (options_.add_special_tokens) {
        for (const TokenId id : model_.prefix_) {
            put_id(id, {});
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
            range_.begin = part.data();
            range_.origin = static_cast<std::uint32_t>(segment.begin);
            range_.aligned = nullptr;
            if (segment.token == 0) {
                read_raw_segment(part, readable);
            } else {
                put_token(segment.token, bytes, segment);
            }
        }
    }
    if (options_.add_special_tokens) {
        for (const TokenId id : model_.suffix_) {
            put_id(id, {});
        }
    }
}

void DocumentReader::open_source(Bytes text) {
    if (text.size() > kLongestSpan) {
        throw Error(ErrorCode::TooLongForSpans, std::to_string(text.size()), Error::kNowhere,
                    document_);
    }
    SpanSource& source = items_ != nullptr ? *source_ : worker_.spans.open_source();
    source.open(text, options_.spans);
    range_ = {};
    range_.source = &source;
    range_.begin = text.data();
    source_ = &source;
}

Bytes DocumentReader::keep(Bytes text, Bytes front) {
    const std::size_t size = front.size() + text.size();
    std::uint8_t* out = take_memory(size + 1);
    std::copy(front.begin(), front.end(), out);
    std::copy(text.begin(), text.end(), out + front.size());
    return {out, size};
}

// What is put in front of a text is not left to the normalizer: most text needs nothing else.
Bytes DocumentReader::rewrite(Bytes text) {
    const bool is_same = keeps_parts_ || normalize::is_identity(model_.rewriter_, text);
    if (is_same && (text.empty() || model_.prepended_.empty())) {
        return text;
    }
    if (!is_same && has_spans()) {
        text = rewrite_aligned(text);
    } else if (!is_same) {
        normalize::run(model_.rewriter_, text, worker_.normalized);
        text = worker_.normalized;
    }
    const Bytes front = text.empty() ? Bytes{} : model_.prepended_;
    const Bytes kept = keep(text, front);
    if (has_spans()) {
        range_.begin = kept.data() + front.size();
    }
    return kept;
}

Bytes DocumentReader::rewrite_aligned(Bytes text) {
    normalize::AlignedText aligned{std::move(worker_.normalized), {}};
    normalize::run_aligned(model_.rewriter_, text, aligned);
    source_->aligned.push_back(std::move(aligned.spans));
    range_.aligned = source_->aligned.back().data();
    worker_.normalized = std::move(aligned.text);
    return worker_.normalized;
}

// Text between the tokens of the raw document: normalized, then searched for the others.
void DocumentReader::read_raw_segment(Bytes text, const std::uint8_t* readable) {
    const Bytes raw = text;
    text = rewrite(text);
    if (text.data() != raw.data()) {
        readable = text.data() + text.size();
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

Bytes DocumentReader::respell(Bytes text, SpanRange& range) {
    const normalize::Program& respeller = model_.respeller_;
    if (respeller.steps.empty() || normalize::is_identity(respeller, text)) {
        return text;
    }
    if (!has_spans()) {
        normalize::run(respeller, text, worker_.normalized);
        return keep(worker_.normalized, {});
    }
    normalize::AlignedText aligned{std::move(worker_.normalized), {}};
    normalize::run_aligned(respeller, text, aligned);
    worker_.normalized = std::move(aligned.text);
    const Bytes kept = keep(worker_.normalized, {});
    // Its bytes stand for bytes of `text`, and those for bytes of the document.
    const std::ptrdiff_t shift = text.data() - range.begin;
    normalize::Spans& spans = aligned.spans;
    std::size_t in_front = 0;
    while (in_front < spans.size() && spans[in_front].begin + shift < 0) {
        ++in_front;
    }
    spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(in_front));
    for (normalize::Span& span : spans) {
        span.begin = static_cast<std::uint32_t>(span.begin + shift);
        span.end = static_cast<std::uint32_t>(span.end + shift);
        if (range.aligned != nullptr) {
            span = {range.aligned[span.begin].begin, range.aligned[span.end - 1].end};
        }
    }
    source_->aligned.push_back(std::move(spans));
    range.aligned = source_->aligned.back().data();
    range.begin = kept.data() + in_front;
    return kept;
}

void DocumentReader::read_range(Bytes text, const std::uint8_t* readable) {
    const bool is_first = at_start_;
    at_start_ = false;
    if (text.empty()) {
        return;
    }
    const bool wants_blank = model_.prefix_space_ == PrefixSpace::Always ||
                             (model_.prefix_space_ == PrefixSpace::First && is_first);
    SpanRange range = range_;
    const Bytes respelled = respell(text, range);
    if (respelled.data() != text.data()) {
        text = respelled;
        readable = text.data() + text.size();
    }
    if (wants_blank && text[0] != ' ') {
        constexpr std::uint8_t kBlank[] = {' '};
        const Bytes kept = keep(text, kBlank);
        // What is put in front is where the first character is.
        const std::ptrdiff_t shift = text.data() - range.begin;
        range.floor = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(shift, 0));
        range.begin = kept.data() + 1 - shift;
        text = kept;
        readable = text.data() + text.size();
    }
    const std::uint8_t* end = text.data() + text.size();
    if (items_ != nullptr) {
        items_->push_back({text.data(), end, end, readable, 0, false, range, {}});
        return;
    }
    worker_.reserve(text.size());
    if (has_spans()) {
        worker_.open_range(range);
    }
    worker_.kernel.encode_range(worker_, text.data(), end, end, readable);
}

void DocumentReader::put_token(std::uint32_t token, Bytes document, const split::Segment& where) {
    at_start_ = false;
    const split::AddedToken& added = model_.added_.tokens[token - 1];
    const Bytes text = document.subspan(where.begin, where.end - where.begin);
    if (options_.special == SpecialMode::Raise && (added.flags & split::kSpecial) != 0) {
        throw Error(ErrorCode::SpecialInText, std::string(text.begin(), text.end()), where.begin,
                    document_);
    }
    FixedSpan span;
    if (has_spans()) {
        span.source = range_.source;
        span.place = place_of(range_, text.data(), text.data() + text.size());
        if (model_.trim_ != Trim::Never) {
            count_blanks(text, span.lead, span.tail);
        }
    }
    put_id(added.id, span);
}

void DocumentReader::put_id(TokenId id, const FixedSpan& span) {
    if (items_ != nullptr) {
        items_->push_back({nullptr, nullptr, nullptr, nullptr, id, true, {}, span});
        return;
    }
    worker_.reserve(1);
    if (has_spans()) {
        worker_.spans.fixed.push_back(span);
    }
    worker_.add_id(id);
}

}  // namespace tokenmill::pipeline
