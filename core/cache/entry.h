// entry: a segment and its ids, in one piece of memory that never changes. Internal to cache.
#pragma once

#include <memory>

#include "base/hash128.h"
#include "base/types.h"

namespace tokenmill::cache {

// What decides the ids of a segment.
struct SegmentKey {
    Hash128 model;            // Model::fingerprint()
    std::uint32_t flags = 0;  // kFirst... of the options and the place that matter to the model
    Bytes text;
};

enum SegmentFlag : std::uint32_t {
    kFirst = 1,      // at the start of a document, and the model cares
    kContinues = 2,  // the rest of a text that was cut
    kModeShift = 2,  // two bits: the special mode, where it can matter
};

class SegmentEntry {
public:
    // Copies the text and packs the ids, which must be below 2^bits.
    SegmentEntry(const SegmentKey& key, std::span<const TokenId> ids, unsigned bits,
                 std::uint64_t generation);
    // Takes ids that are packed already; the caller has checked them.
    SegmentEntry(const SegmentKey& key, Bytes packed, std::size_t id_count, unsigned bits,
                 std::uint64_t generation);

    // Equal hashes are not enough: attackers choose the text, and bits flip.
    [[nodiscard]] bool is_of(const SegmentKey& key) const noexcept;
    [[nodiscard]] SegmentKey key() const noexcept { return {model_, flags_, text()}; }
    [[nodiscard]] Bytes text() const noexcept { return {memory_.get(), text_size_}; }
    [[nodiscard]] Bytes packed() const noexcept;
    [[nodiscard]] std::size_t id_count() const noexcept { return id_count_; }
    [[nodiscard]] unsigned bits() const noexcept { return bits_; }
    // Which clear() it came after: entries of older generations are not believed.
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    // Needs room for 8 ids more than id_count().
    void unpack(TokenId* out) const noexcept;
    // All that the cache holds for it: text, ids, and the parts around them (see kOverhead).
    [[nodiscard]] std::size_t cost_bytes() const noexcept;

    // This object with its counter, the node of the table, a place in a queue, and what the
    // allocator adds to three pieces. A test compares the budget with what the process grows by.
    static constexpr std::size_t kOverhead = 256;

private:
    [[nodiscard]] std::size_t memory_bytes() const noexcept;

    Hash128 model_;
    std::uint64_t generation_;
    std::size_t text_size_;
    std::size_t id_count_;
    std::uint32_t flags_;
    unsigned bits_;
    std::unique_ptr<std::uint8_t[]> memory_;  // the text, then the packed ids and their slack
};

using EntryRef = std::shared_ptr<const SegmentEntry>;

}  // namespace tokenmill::cache
