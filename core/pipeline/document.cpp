// document: one text -> ranges and known ids, in order.
#include "pipeline/document.h"

#include <algorithm>
#include <cstring>

#include "pipeline/safe_cuts.h"
#include "pipeline/transcode.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {
constexpr std::size_t kLongestSpan = 0xFFFFFFFF;  // places are 32 bits wide
}

// The whole way of a document, in the order of the rooms.
template <typename Sink>
void DocumentReader<Sink>::read(const Text& text, std::size_t document) {
    const Bytes bytes = open(text, document);
    keeps_parts_ = normalize::keeps_parts(model_.rewriter_, bytes);
    if (has_spans()) {
        open_source(bytes);
    }
    put_prefix();
    read_text(bytes);
    put_suffix();
}

template <typename Sink>
Bytes DocumentReader<Sink>::open(const Text& text, std::size_t document) {
    document_ = document;
    is_continued_ = options_.continues != nullptr;
    at_start_ = !is_continued_;
    may_have_added_ = true;
    keeps_parts_ = false;
    const Bytes bytes = utf8_of(text);
    worker_.encoder.counters.add(Tally::Documents, 1);
    worker_.encoder.counters.add_bytes(WorkStage::Normalize, bytes.size());
    text_ = bytes.data();
    check_stop(options_.stop);
    return bytes;
}

// Nearly always the caller's own memory: only other encodings and repaired text are copied.
template <typename Sink>
Bytes DocumentReader<Sink>::utf8_of(const Text& text) {
    if (text.encoding != Text::Encoding::Utf8 && text.encoding != Text::Encoding::Trusted) {
        return normalizing(text.size, [this, &text] {
            return transcode(text, worker_.kernel, options_.replace_invalid, document_, sink_);
        });
    }
    const Bytes bytes(static_cast<const std::uint8_t*>(text.data), text.size);
    if (text.encoding == Text::Encoding::Trusted || bytes.empty()) {
        return bytes;
    }
    return normalizing(text.size, [this, bytes] { return checked(bytes); });
}

template <typename Sink>
Bytes DocumentReader<Sink>::checked(Bytes bytes) {
    bool may_start = false;
    if (worker_.kernel.check_text(model_.added_.raw.filter(), bytes.data(),
                                  bytes.data() + bytes.size(), may_start)) {
        may_have_added_ = may_start;
        return bytes;
    }
    if (!options_.replace_invalid) {
        refuse_bytes(bytes, document_);
    }
    std::vector<std::uint8_t> repaired;
    unicode::append_repaired(bytes, repaired);
    return keep(repaired, {});
}

// Added tokens of two kinds are cut out one after the other: first those that the raw text is
// searched for, then, in what is left and normalized, the others.
//
//   raw        Hi <|end|> cafe            segments: text, token, text
//   inner      "Hi "        " cafe"         each text is normalized and searched again
template <typename Sink>
void DocumentReader<Sink>::read_text(Bytes text) {
    if (model_.added_.raw.empty() || !may_have_added_) {
        read_raw_segment(text, text.data() + text.size());
        return;
    }
    find_segments(text);
    StopPoints points(options_.stop);
    for (const split::Segment& segment : worker_.reader.segments) {
        points.pass(segment.begin);
        read_segment(text, segment, is_continued_);
    }
}

template <typename Sink>
void DocumentReader<Sink>::find_segments(Bytes text) {
    std::vector<split::Segment>& segments = worker_.reader.segments;
    segments.clear();
    if (model_.added_.raw.empty() || !may_have_added_) {
        segments.push_back({0, text.size(), 0});
        return;
    }
    normalizing(text.size(), [this, text] { find_raw_tokens(text, worker_.reader.segments); });
}

template <typename Sink>
void DocumentReader<Sink>::read_segment(Bytes text, const split::Segment& segment, bool continues) {
    const Bytes part = text.subspan(segment.begin, segment.end - segment.begin);
    is_continued_ = continues;
    at_start_ = segment.begin == 0 && !continues;
    range_.begin = part.data();
    range_.origin = static_cast<std::uint32_t>(segment.begin);
    range_.aligned = nullptr;
    if (segment.token == 0) {
        read_raw_segment(part, text.data() + text.size());
    } else {
        put_token(segment.token, text, segment);
    }
}

template <typename Sink>
void DocumentReader<Sink>::find_raw_tokens(Bytes text, std::vector<split::Segment>& out) {
    const split::AddedView& added = model_.added_;
    const split::AddedView::FindCandidate find = worker_.kernel.find_candidate;
    const Trust* const trust = options_.trust;
    if (trust == nullptr) {
        added.find_added_tokens(added.raw, text, skipped_tokens(), find, out);
        return;
    }
    const split::Trusted trusted{trust->ranges, trust->control.by_token()};
    std::vector<split::Segment>& control = worker_.reader.control;
    control.clear();
    added.find_control_tokens(added.raw, text, trusted, find, control);
    added.find_around(added.raw, text, control, trusted, find, out);
}

template <typename Sink>
void DocumentReader<Sink>::find_normal_tokens(Bytes raw, Bytes text,
                                              std::vector<split::Segment>& out) {
    const split::AddedView& added = model_.added_;
    const split::AddedView::FindCandidate find = worker_.kernel.find_candidate;
    if (!needs_origins()) {
        added.find_added_tokens(added.normal, text, skipped_tokens(), find, out);
        return;
    }
    ReaderScratch& reader = worker_.reader;
    const Rewritten rewritten{text, front_, reader.origins};
    const auto begin = static_cast<std::size_t>(raw.data() - text_);
    clip_ranges(options_.trust->ranges, {begin, begin + raw.size()}, reader.ranges);
    carry_ranges(reader.ranges, rewritten, reader.inner_ranges);
    const split::Trusted trusted{reader.inner_ranges, options_.trust->control.by_token()};
    reader.control.clear();
    added.find_control_tokens(added.normal, text, trusted, find, reader.control);
    drop_borrowed(raw, rewritten);
    added.find_around(added.normal, text, reader.control, trusted, find, out);
}

// Origins name only one of the characters that became a new one. A mark of somebody else may have
// completed the token, so what the token stands for must give the token when it is read alone.
template <typename Sink>
void DocumentReader<Sink>::drop_borrowed(Bytes raw, const Rewritten& rewritten) {
    if (rewritten.origins.empty()) {
        return;
    }
    normalize::Buffer alone;
    std::erase_if(worker_.reader.control, [&](const split::Segment& token) {
        const ByteRange from =
            trusted_origin_of(worker_.reader.ranges, rewritten, token.begin, token.end);
        const Bytes found = rewritten.text.subspan(token.begin, token.end - token.begin);
        for (const normalize::Program* program : {&model_.rewriter_, &model_.normalizer_}) {
            normalize::run(*program, raw.subspan(from.begin, from.end - from.begin), alone);
            if (std::equal(alone.begin(), alone.end(), found.begin(), found.end())) {
                return false;
            }
        }
        return true;
    });
}

template <typename Sink>
void DocumentReader<Sink>::open_source(Bytes text) {
    if (text.size() > kLongestSpan) {
        throw Error(ErrorCode::TooLongForSpans, std::to_string(text.size()), Error::kNowhere,
                    document_);
    }
    SpanSource& source = sink_.open_source();
    source.open(text, options_.spans);
    range_ = {};
    range_.source = &source;
    range_.begin = text.data();
    source_ = &source;
}

template <typename Sink>
Bytes DocumentReader<Sink>::keep(Bytes text, Bytes front) {
    const std::size_t size = front.size() + text.size();
    std::uint8_t* out = sink_.take_memory(size + 1);
    std::copy(front.begin(), front.end(), out);
    std::copy(text.begin(), text.end(), out + front.size());
    return {out, size};
}

// Text between the tokens of the raw document: normalized, then searched for the other tokens.
// Text that was rewritten lies in memory of its own, which ends where the text does.
template <typename Sink>
void DocumentReader<Sink>::read_raw_segment(Bytes text, const std::uint8_t* readable) {
    check_stop(options_.stop);
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
    std::vector<split::Segment>& segments = worker_.reader.inner_segments;
    segments.clear();
    normalizing(text.size(), [this, raw, text] {
        find_normal_tokens(raw, text, worker_.reader.inner_segments);
    });
    StopPoints points(options_.stop);
    for (const split::Segment& segment : segments) {
        points.pass(segment.begin);
        if (segment.token == 0) {
            read_range(text.subspan(segment.begin, segment.end - segment.begin), readable);
        } else {
            put_token(segment.token, text, segment);
        }
    }
}

// A stretch without added tokens, on its way to split.
template <typename Sink>
void DocumentReader<Sink>::read_range(Bytes text, const std::uint8_t* readable) {
    const bool is_first = at_start_;
    at_start_ = false;
    if (text.empty()) {
        return;
    }
    const bool wants_blank =
        !is_continued_ && (model_.prefix_space_ == PrefixSpace::Always ||
                           (model_.prefix_space_ == PrefixSpace::First && is_first));
    SpanRange range = range_;
    const Bytes respelled = respell(text, range);
    is_continued_ = false;
    if (respelled.data() != text.data()) {
        text = respelled;
        readable = text.data() + text.size();
    }
    if (wants_blank && text[0] != ' ') {
        text = put_blank_in_front(text, range);
        readable = text.data() + text.size();
    }
    const std::uint8_t* end = text.data() + text.size();
    sink_.range({text.data(), end, end, readable}, range);
}

// The blank is not in the document. A span that covers it starts at the first character instead:
//
//   document   H e l l o                  range.begin[i] is byte origin + i of the document
//   kept     _ H e l l o                  range.begin moves with the text, after the blank
//              ^ range.begin + floor      bytes before this one share its place
template <typename Sink>
Bytes DocumentReader<Sink>::put_blank_in_front(Bytes text, SpanRange& range) {
    constexpr std::uint8_t kBlank[] = {' '};
    const Bytes kept = keep(text, kBlank);
    if (has_spans()) {
        const std::ptrdiff_t shift = text.data() - range.begin;
        range.floor = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(shift, 0));
        range.begin = kept.data() + 1 - shift;
    }
    return kept;
}

// An added token that was found in the text, or the error that the caller asked for.
template <typename Sink>
void DocumentReader<Sink>::put_token(std::uint32_t token, Bytes text, const split::Segment& where) {
    at_start_ = false;
    is_continued_ = false;
    const split::AddedToken& added = model_.added_.tokens[token - 1];
    const Bytes found = text.subspan(where.begin, where.end - where.begin);
    if (options_.special == SpecialMode::Raise && (added.flags & split::kSpecial) != 0) {
        throw Error(ErrorCode::SpecialInText, std::string(found.begin(), found.end()), where.begin,
                    document_);
    }
    FixedSpan span;
    if (has_spans()) {
        span.source = range_.source;
        span.place = place_of(range_, found.data(), found.data() + found.size());
        if (model_.trim_ != Trim::Never) {
            count_blanks(found, span.lead, span.tail);
        }
    }
    if (options_.trust != nullptr && options_.trust->control.has(added.id)) {
        ++options_.trust->put;
    }
    sink_.id(added.id, span);
}

// Ids that belong to no place in the text.
template <typename Sink>
void DocumentReader<Sink>::put_around(std::span<const TokenId> ids) {
    if (!options_.add_special_tokens) {
        return;
    }
    for (const TokenId id : ids) {
        sink_.id(id, {});
    }
    if (options_.trust != nullptr) {
        options_.trust->put += options_.trust->control.count_in(ids);
    }
}

template class DocumentReader<BatchSink>;
template class DocumentReader<ItemList>;

}  // namespace tokenmill::pipeline
