// worker: ranges of text and known ids -> ids, on one thread.
#include "pipeline/worker.h"

#include <algorithm>
#include <cstring>

#include "base/platform.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kSlack = 64;  // ids are stored three at a time
constexpr std::size_t kFirstIds = std::size_t{1} << 16;
constexpr std::size_t kScratch = std::size_t{1} << 17;
constexpr std::size_t kKeptSpare = 3;  // buffers between two calls: as many as one mostly needs
constexpr std::size_t kMaxKept = std::size_t{2} << 20;
constexpr std::size_t kUntilNextTry = std::size_t{1} << 16;  // bytes of text

// Makes `buffer` hold `wanted` items and keeps the first `used` of them. Doubling keeps the copies
// linear in the end.
void grow(PageBuffer& buffer, std::size_t used, std::size_t wanted, std::size_t item_size) {
    if (wanted * item_size <= buffer.size_bytes()) {
        return;
    }
    PageBuffer larger(std::max(2 * wanted, kFirstIds) * item_size);
    if (used != 0) {
        std::memcpy(larger.data(), buffer.data(), used * item_size);
    }
    buffer = std::move(larger);
}

}  // namespace

// A text of n bytes never becomes more than n ids, so the bound is known before a range is read
// and the loops that write need no checks.
void Worker::reserve(std::size_t more) {
    bound_ += more;
    const std::size_t wanted = bound_ + kSlack;
    const std::size_t used = written();
    grow(memory.ids, used, wanted, sizeof(std::uint32_t));
    cursor = first() + used;
    if (has_spans()) {
        grow(memory.spans, used, wanted, sizeof(Place));
    }
    if (spans.words.kind != Words::None) {
        grow(memory.words, used, wanted, sizeof(std::uint32_t));
    }
}

std::uint8_t* Worker::take_scratch(std::size_t size) {
    if (scratch_.empty() || scratch_.back().size() - scratch_used_ < size) {
        scratch_.emplace_back(std::max(size, kScratch));
        scratch_used_ = 0;
    }
    std::uint8_t* at = scratch_.back().data() + scratch_used_;
    scratch_used_ += size;
    return at;
}

ResultMemory Worker::take_spare_memory() noexcept {
    if (spare.empty()) {
        return {};
    }
    ResultMemory taken = std::move(spare.back());
    spare.pop_back();
    return taken;
}

std::size_t Worker::buffer_bytes() const noexcept {
    std::size_t total = memory.ids.size_bytes();
    for (const ResultMemory& kept : spare) {
        total += kept.ids.size_bytes();
    }
    return total + scratch_bytes();
}

std::size_t Worker::scratch_bytes() const noexcept {
    std::size_t total = 0;
    for (const auto& block : scratch_) {
        total += block.size();
    }
    return total;
}

void Worker::expect(std::size_t size) {
    if (encoder.has_small_tables() && size > small_left_) {
        flush();
        grow_tables();
    }
}

// Takes milliseconds, so it is timed by itself.
void Worker::grow_tables() {
    const LongStep timed(encoder.clock, WorkStage::LookUp);
    encoder.grow_tables();
}

void Worker::add_range(const TextRange& range, const SpanRange& place) {
    const auto size = static_cast<std::size_t>(range.stop - range.begin);
    const bool are_small = encoder.has_small_tables();
    if (are_small && size <= small_left_) {
        small_left_ -= size;
    } else if (are_small || encoder.tables.are_full()) {
        flush();
        grow_tables();
        small_left_ = kUntilNextTry;
    }
    reserve(size);
    encoder.counters.add_bytes(WorkStage::Split, size);
    encoder.clock.lap(WorkStage::Normalize);
    if (has_spans()) {
        spans.ranges.push_back(place);
        spans.ranges.back().first_unit = encoder.count;
    }
    kernel.encode_range(*this, range);
    encoder.clock.lap(WorkStage::Split);
}

// The id takes a unit of the batch, so that ids stay in order; key 0 makes the look-up pass it by.
void Worker::add_id(TokenId id, const FixedSpan& span) {
    reserve(1);
    if (has_spans()) {
        spans.fixed.push_back(span);
    }
    const std::uint32_t n = encoder.count;
    encoder.key[n] = 0;
    encoder.line[n] = 0;
    encoder.unit[n] = 0;
    encoder.count = n + 1;
    fixed.push_back({n, vocab::pack_ids(&id, 1)});
    if (encoder.is_batch_full()) {
        flush();
    }
}

void Worker::end_document() {
    marks.push_back(encoder.count);
    if (scratch_.size() > 1 || scratch_used_ > kScratch / 2) {
        flush();  // units point into the scratch
        clear_scratch();
    }
}

void Worker::end_batch() {
    if (has_spans()) {
        spans.end_batch();
    }
    fixed.clear();
    marks.clear();
    if (unlikely(encoder.tables.evicted != 0)) {
        encoder.counters.add(Tally::Evicted, std::exchange(encoder.tables.evicted, 0));
    }
    encoder.end_batch();
    if (unlikely(encoder.clock.end_batch())) {
        publish();
    }
}

// One block is kept for the next document, unless a long text made it large.
void Worker::clear_scratch() {
    if (scratch_.size() > 1 || (!scratch_.empty() && scratch_.back().size() > kScratch)) {
        scratch_.clear();
    }
    scratch_used_ = 0;
}

void Worker::clear() {
    cursor = first();
    bound_ = 0;
    doc_ends.clear();
    spans.clear();
    clear_scratch();
}

void Worker::reset() {
    clear();
    spans.end();
    fixed.clear();
    marks.clear();
    encoder.drop_batch();
    if (encoder.stop() != nullptr) {
        encoder.set_stop(nullptr);
    }
    encoder.shared = nullptr;
    encoder.clock.end_short();
    std::erase_if(spare, [](const ResultMemory& one) { return one.ids.size_bytes() > kMaxKept; });
    spare.resize(std::min(spare.size(), kKeptSpare));
}

}  // namespace tokenmill::pipeline
