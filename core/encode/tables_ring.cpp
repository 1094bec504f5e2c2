// encode: words of more than 32 bytes, and those with many ids, in the ring of a worker.
#include <cstring>

#include "encode/tables.h"

namespace tokenmill::encode {

namespace {

constexpr std::uint64_t kRingSlack = 16384;  // no record is longer

std::size_t padded(std::size_t size) {
    return (size + 7) / 8 * 8;
}

}  // namespace

std::size_t WordTables::ring_bytes(const TableBits& sizes) noexcept {
    return (std::size_t{1} << sizes.ring) + kRingSlack;
}

// A record is the word and its ids, each padded to 8 bytes, in a ring that overwrites its oldest
// records. An entry is alive as long as the ring did not come round to its record.
void WordTables::put_long(Bytes word, std::uint64_t hash, const std::uint32_t* ids,
                          std::uint32_t count) noexcept {
    const std::uint64_t ring_bytes = std::uint64_t{1} << bits.ring;
    const std::size_t record = padded(word.size()) + padded(count * sizeof(std::uint32_t));
    if (record > kRingSlack) {
        return;
    }
    const std::uint64_t in_ring = ring_head & (ring_bytes - 1);
    if (in_ring + record > ring_bytes) {
        ring_head += ring_bytes - in_ring;  // records do not wrap around
    }
    std::uint8_t* at = memory_ring.data() + (ring_head & (ring_bytes - 1));
    std::memcpy(at, word.data(), word.size());
    std::memcpy(at + padded(word.size()), ids, count * sizeof(std::uint32_t));
    const std::size_t first = 4 * (hash >> (64 - bits.long_words));
    LongEntry* line = entries + first;
    const auto is_alive = [&](const LongEntry& entry) {
        return entry.position != 0 && ring_head - entry.position < ring_bytes - kRingSlack;
    };
    std::uint32_t slot = 0;
    if (used_long.add(first * sizeof(LongEntry))) {
        while (slot < 4 && is_alive(line[slot])) {
            ++slot;
        }
        slot = slot == 4 ? turn++ & 3 : slot;
        evicted += std::uint64_t{line[slot].position != 0};
    }
    line[slot] = {ring_head, static_cast<std::uint32_t>(hash),
                  static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(count)};
    ring_head += record;
}

const std::uint32_t* WordTables::find_long(Bytes word, std::uint64_t hash,
                                           std::uint32_t& count) const noexcept {
    const std::uint64_t ring_bytes = std::uint64_t{1} << bits.ring;
    const std::size_t first = 4 * (hash >> (64 - bits.long_words));
    if (!used_long.has(first * sizeof(LongEntry))) {
        return nullptr;
    }
    const LongEntry* line = entries + first;
    for (unsigned slot = 0; slot < 4; ++slot) {
        const LongEntry& entry = line[slot];
        // The age must be looked at first: an overwritten record may hold anything.
        if (entry.tag == static_cast<std::uint32_t>(hash) && entry.size == word.size() &&
            entry.position != 0 && ring_head - entry.position < ring_bytes - kRingSlack) {
            const std::uint8_t* at = memory_ring.data() + (entry.position & (ring_bytes - 1));
            if (std::memcmp(at, word.data(), word.size()) == 0) {
                count = entry.count;
                return reinterpret_cast<const std::uint32_t*>(at + padded(word.size()));
            }
        }
    }
    return nullptr;
}

std::uint64_t hash_long(Bytes word) noexcept {
    return vocab::hash_bytes(word);
}

}  // namespace tokenmill::encode
