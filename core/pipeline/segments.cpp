// segments: one document, cut at its added tokens, for a caller who knows the ids of some texts.
#include "pipeline/document.h"
#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

struct SegmentEncoder::State {
    State(const Model& the_model, const Options& the_options)
        : model(the_model),
          options(the_options),
          lease(the_model),
          worker(lease.worker()),
          sink(worker),
          reader(the_model, worker, options, sink) {}

    const Model& model;
    Options options;
    Model::Lease lease;
    Worker& worker;
    BatchSink sink;
    DocumentReader<BatchSink> reader;
    Bytes text;
};

SegmentEncoder::SegmentEncoder(const Model& model, const Text& text, const Options& options)
    : state_(std::make_unique<State>(model, options)) {
    Worker& worker = state_->worker;
    worker.reserve(0);
    worker.clear();
    worker.set_stop(options.stop);
    state_->text = state_->reader.open(text, Error::kNowhere);
    state_->reader.find_segments(state_->text);
    state_->reader.put_prefix();
}

SegmentEncoder::~SegmentEncoder() = default;

// Cuts depend on the bytes before them only, so that a text that grew is cut in the same places. A
// place must be well inside the text: whether one at its end is safe depends on what follows.
void SegmentEncoder::cut_last(std::size_t size) {
    std::vector<split::Segment>& all = state_->worker.reader.segments;
    if (all.empty() || all.back().token != 0 || !state_->model.has_safe_cuts()) {
        return;
    }
    while (all.back().end - all.back().begin > 2 * size) {
        const split::Segment rest = all.back();
        const Text text{state_->text.data() + rest.begin, rest.end - rest.begin,
                        Text::Encoding::Trusted};
        const std::size_t at = rest.begin + state_->model.prefix_end(text, size);
        if (at + 1 >= rest.end) {
            return;
        }
        all.back().end = at;
        all.push_back({at, rest.end, 0});
    }
}

std::span<const split::Segment> SegmentEncoder::segments() const noexcept {
    return state_->worker.reader.segments;
}

Bytes SegmentEncoder::text_of(const split::Segment& segment) const noexcept {
    return state_->text.subspan(segment.begin, segment.end - segment.begin);
}

bool SegmentEncoder::continues(const split::Segment& segment) const noexcept {
    return &segment != segments().data() && segment.token == 0 && (&segment)[-1].token == 0;
}

void SegmentEncoder::add(const split::Segment& segment) {
    state_->reader.read_segment(state_->text, segment, continues(segment));
}

TokenId* SegmentEncoder::put(std::size_t count) {
    Worker& worker = state_->worker;
    worker.flush();
    worker.reserve(count);
    TokenId* const room = worker.cursor;
    worker.cursor += count;
    return room;
}

std::span<const TokenId> SegmentEncoder::ids() {
    Worker& worker = state_->worker;
    worker.flush();
    return {worker.first(), worker.written()};
}

std::span<const TokenId> SegmentEncoder::finish() {
    state_->reader.put_suffix();
    state_->worker.end_document();
    return ids();
}

}  // namespace tokenmill::pipeline
