#include "pipeline/worker.h"

#include <algorithm>
#include <cstring>

namespace tokenmill::pipeline {

namespace {
constexpr std::size_t kSlack = 64;  // ids are stored three at a time
constexpr std::size_t kFirstIds = std::size_t{1} << 16;
constexpr std::size_t kScratch = std::size_t{1} << 17;
}  // namespace

void Worker::reserve(std::size_t more) {
    bound += more;
    const std::size_t wanted = bound + kSlack;
    if (wanted * sizeof(std::uint32_t) <= output.size_bytes()) {
        return;
    }
    const std::size_t used = written();
    PageBuffer larger(std::max(2 * wanted, kFirstIds) * sizeof(std::uint32_t));
    if (used != 0) {
        std::memcpy(larger.data(), output.data(), used * sizeof(std::uint32_t));
    }
    output = std::move(larger);
    cursor = first() + used;
}

std::uint8_t* Worker::take_scratch(std::size_t size) {
    if (scratch_used + size > scratch.size()) {
        kernel.flush(*this);
        scratch_used = 0;
        if (size > scratch.size()) {
            scratch.resize(std::max(size, kScratch));
        }
    }
    std::uint8_t* at = scratch.data() + scratch_used;
    scratch_used += size;
    return at;
}

void Worker::add_id(TokenId id) {
    const std::uint32_t n = encoder.count;
    encoder.key[n] = 0;
    encoder.line[n] = 0;
    encoder.unit[n] = 0;
    encoder.count = n + 1;
    fixed.push_back({n, id});
    if (encoder.count >= encode::WordEncoder::kBatch) {
        kernel.flush(*this);
    }
}

void Worker::end_document() { marks.push_back(encoder.count); }

void Worker::clear() {
    cursor = first();
    bound = 0;
    doc_ends.clear();
    scratch_used = 0;
}

}  // namespace tokenmill::pipeline
