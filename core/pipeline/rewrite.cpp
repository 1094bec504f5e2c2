// document: text that a tokenizer wants otherwise, with the places that it comes from.
#include "pipeline/document.h"
#include "pipeline/safe_cuts.h"

namespace tokenmill::pipeline {

// The normalizer without its last step, if that one prepends text: the text in front is put there
// by hand, because most documents need nothing else and can then skip the normalizer.
template <typename Sink>
Bytes DocumentReader<Sink>::rewrite(Bytes text) {
    const normalize::Program& rewriter =
        is_cut_off() ? options_.continues->rewriter() : model_.rewriter_;
    const Bytes prepended = is_continued_ ? Bytes{} : model_.prepended_;
    worker_.reader.origins.clear();
    front_ = 0;
    if (keeps_parts_ && (text.empty() || prepended.empty())) {
        return text;
    }
    const std::size_t size = keeps_parts_ ? 0 : text.size();
    return normalizing(
        size, [this, text, &rewriter, prepended] { return rewritten(text, rewriter, prepended); });
}

template <typename Sink>
Bytes DocumentReader<Sink>::rewritten(Bytes text, const normalize::Program& rewriter,
                                      Bytes prepended) {
    const bool is_same = keeps_parts_ || normalize::is_identity(rewriter, text);
    if (is_same && (text.empty() || prepended.empty())) {
        return text;
    }
    if (!is_same && has_spans()) {
        text = rewrite_aligned(text);
    } else if (!is_same && needs_origins()) {
        normalize::AlignedText aligned{std::move(worker_.reader.normalized), {}};
        normalize::run_aligned(model_.rewriter_, text, aligned, options_.stop);
        worker_.reader.origins = std::move(aligned.spans);
        worker_.reader.normalized = std::move(aligned.text);
        text = worker_.reader.normalized;
    } else if (!is_same) {
        normalize::run(rewriter, text, worker_.reader.normalized, options_.stop);
        text = worker_.reader.normalized;
    }
    const Bytes front = text.empty() ? Bytes{} : prepended;
    front_ = front.size();
    const Bytes kept = keep(text, front);
    if (has_spans()) {
        range_.begin = kept.data() + front.size();
    }
    return kept;
}

// As rewrite, and remembers which bytes of the document each new byte stands for.
template <typename Sink>
Bytes DocumentReader<Sink>::rewrite_aligned(Bytes text) {
    normalize::AlignedText aligned{std::move(worker_.reader.normalized), {}};
    normalize::run_aligned(model_.rewriter_, text, aligned, options_.stop);
    source_->aligned.push_back(std::move(aligned.spans));
    range_.aligned = source_->aligned.back().data();
    worker_.reader.normalized = std::move(aligned.text);
    return worker_.reader.normalized;
}

// Some tokenizers rewrite text after the added tokens were cut out. With spans, two alignments are
// chained: bytes of the new text stand for bytes of `text`, and those for bytes of the document.
template <typename Sink>
Bytes DocumentReader<Sink>::respell(Bytes text, SpanRange& range) {
    const normalize::Program& respeller =
        is_cut_off() ? options_.continues->respeller() : model_.respeller_;
    if (respeller.steps.empty()) {
        return text;
    }
    return normalizing(text.size(), [this, text, &respeller, &range] {
        return respelled(text, respeller, range);
    });
}

template <typename Sink>
Bytes DocumentReader<Sink>::respelled(Bytes text, const normalize::Program& respeller,
                                      SpanRange& range) {
    if (normalize::is_identity(respeller, text)) {
        return text;
    }
    if (!has_spans()) {
        normalize::run(respeller, text, worker_.reader.normalized, options_.stop);
        return keep(worker_.reader.normalized, {});
    }
    normalize::AlignedText aligned{std::move(worker_.reader.normalized), {}};
    normalize::run_aligned(respeller, text, aligned, options_.stop);
    worker_.reader.normalized = std::move(aligned.text);
    const Bytes kept = keep(worker_.reader.normalized, {});
    const std::int64_t shift = text.data() - range.begin;
    normalize::Spans& spans = aligned.spans;
    std::size_t in_front = 0;  // bytes that stand for text put in front, at no place
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

// The header leaves every member to one file, so each of these has to be named.
template Bytes DocumentReader<BatchSink>::rewrite(Bytes);
template Bytes DocumentReader<BatchSink>::rewritten(Bytes, const normalize::Program&, Bytes);
template Bytes DocumentReader<BatchSink>::rewrite_aligned(Bytes);
template Bytes DocumentReader<BatchSink>::respell(Bytes, SpanRange&);
template Bytes DocumentReader<BatchSink>::respelled(Bytes, const normalize::Program&, SpanRange&);
template Bytes DocumentReader<ItemList>::rewrite(Bytes);
template Bytes DocumentReader<ItemList>::rewritten(Bytes, const normalize::Program&, Bytes);
template Bytes DocumentReader<ItemList>::rewrite_aligned(Bytes);
template Bytes DocumentReader<ItemList>::respell(Bytes, SpanRange&);
template Bytes DocumentReader<ItemList>::respelled(Bytes, const normalize::Program&, SpanRange&);

}  // namespace tokenmill::pipeline
