#include "pipeline/worker.h"

#include <algorithm>
#include <cstring>

namespace tokenmill::pipeline {

namespace {
constexpr std::size_t kSlack = 64;  // ids are stored three at a time
constexpr std::size_t kFirstIds = std::size_t{1} << 16;
constexpr std::size_t kScratch = std::size_t{1} << 17;

void grow(PageBuffer& buffer, std::size_t used, std::size_t wanted, std::size_t item_size) {
    PageBuffer larger(std::max(2 * wanted, kFirstIds) * item_size);
    if (used != 0) {
        std::memcpy(larger.data(), buffer.data(), used * item_size);
    }
    buffer = std::move(larger);
}
}  // namespace

void Worker::reserve(std::size_t more) {
    bound += more;
    const std::size_t wanted = bound + kSlack;
    const std::size_t used = written();
    if (wanted * sizeof(std::uint32_t) > output.size_bytes()) {
        grow(output, used, wanted, sizeof(std::uint32_t));
        cursor = first() + used;
    }
    if (spans.unit != SpanUnit::None && wanted * sizeof(Place) > spans.output.size_bytes()) {
        grow(spans.output, used, wanted, sizeof(Place));
    }
    PageBuffer& numbers = spans.words.output;
    if (spans.words.kind != Words::None && wanted * sizeof(std::uint32_t) > numbers.size_bytes()) {
        grow(numbers, used, wanted, sizeof(std::uint32_t));
    }
}

void Worker::open_range(const SpanRange& range) {
    spans.ranges.push_back(range);
    spans.ranges.back().first_unit = encoder.count;
}

std::uint8_t* Worker::take_scratch(std::size_t size) {
    if (scratch.empty() || scratch.back().size() - scratch_used < size) {
        scratch.emplace_back(std::max(size, kScratch));
        scratch_used = 0;
    }
    std::uint8_t* at = scratch.back().data() + scratch_used;
    scratch_used += size;
    return at;
}

std::size_t Worker::scratch_bytes() const noexcept {
    std::size_t total = 0;
    for (const auto& block : scratch) {
        total += block.size();
    }
    return total;
}

void Worker::add_id(TokenId id) {
    const std::uint32_t n = encoder.count;
    encoder.key[n] = 0;
    encoder.line[n] = 0;
    encoder.unit[n] = 0;
    encoder.count = n + 1;
    fixed.push_back({n, vocab::pack_ids(&id, 1)});
    if (encoder.count >= encode::WordEncoder::kBatch) {
        kernel.flush(*this);
    }
}

void Worker::end_document() {
    marks.push_back(encoder.count);
    if (scratch.size() > 1 || scratch_used > kScratch / 2) {
        kernel.flush(*this);  // units point into the scratch
        clear_scratch();
    }
}

void Worker::clear_scratch() {
    if (scratch.size() > 1 || (!scratch.empty() && scratch.back().size() > kScratch)) {
        scratch.clear();
    }
    scratch_used = 0;
}

void Worker::clear() {
    cursor = first();
    bound = 0;
    doc_ends.clear();
    spans.clear();
    clear_scratch();
}

}  // namespace tokenmill::pipeline
