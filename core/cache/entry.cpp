// entry: a segment and its ids, in one piece of memory that never changes.
#include "cache/entry.h"

#include <algorithm>
#include <cstring>

#include "cache/packed.h"

namespace tokenmill::cache {

SegmentEntry::SegmentEntry(const SegmentKey& key, std::span<const TokenId> ids, unsigned bits,
                           std::uint64_t generation)
    : model_(key.model),
      generation_(generation),
      text_size_(key.text.size()),
      id_count_(ids.size()),
      flags_(key.flags),
      bits_(bits),
      memory_(std::make_unique_for_overwrite<std::uint8_t[]>(memory_bytes())) {
    std::copy(key.text.begin(), key.text.end(), memory_.get());
    pack_ids(ids, bits, memory_.get() + text_size_);
}

SegmentEntry::SegmentEntry(const SegmentKey& key, Bytes packed, std::size_t id_count, unsigned bits,
                           std::uint64_t generation)
    : model_(key.model),
      generation_(generation),
      text_size_(key.text.size()),
      id_count_(id_count),
      flags_(key.flags),
      bits_(bits),
      memory_(std::make_unique_for_overwrite<std::uint8_t[]>(memory_bytes())) {
    std::copy(key.text.begin(), key.text.end(), memory_.get());
    std::copy(packed.begin(), packed.end(), memory_.get() + text_size_);
}

std::size_t SegmentEntry::memory_bytes() const noexcept {
    return text_size_ + packed_bytes(id_count_, bits_) + kPackedSlack;
}

std::size_t SegmentEntry::cost_bytes() const noexcept {
    return memory_bytes() + kOverhead;
}

Bytes SegmentEntry::packed() const noexcept {
    return {memory_.get() + text_size_, packed_bytes(id_count_, bits_)};
}

bool SegmentEntry::is_of(const SegmentKey& key) const noexcept {
    return flags_ == key.flags && model_ == key.model && text_size_ == key.text.size() &&
           std::memcmp(memory_.get(), key.text.data(), text_size_) == 0;
}

void SegmentEntry::unpack(TokenId* out) const noexcept {
    unpack_ids(memory_.get() + text_size_, id_count_, bits_, out);
}

}  // namespace tokenmill::cache
