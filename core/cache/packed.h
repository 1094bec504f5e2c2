// packed: ids <-> as few bits each as the vocabulary needs. Internal to cache.
//
//   bits = 18    id 0               id 1               id 2 ...
//                |<---- 18 bits --->|<---- 18 bits --->|          little-endian, without gaps
#pragma once

#include <bit>

#include "base/types.h"

namespace tokenmill::cache {

constexpr unsigned kMostBits = 32;
constexpr std::size_t kPackedSlack = 8;  // bytes after the last one that may be read or written

[[nodiscard]] constexpr unsigned bits_for(TokenId max_id) noexcept {
    return static_cast<unsigned>(std::bit_width(max_id | 1U));
}
[[nodiscard]] constexpr std::size_t packed_bytes(std::size_t count, unsigned bits) noexcept {
    return (count * bits + 7) / 8;
}

// Needs: packed_bytes() + kPackedSlack bytes at `out`, and ids below 2^bits.
void pack_ids(std::span<const TokenId> ids, unsigned bits, std::uint8_t* out) noexcept;
// Needs: as many readable bytes at `from`.
void unpack_ids(const std::uint8_t* from, std::size_t count, unsigned bits, TokenId* out) noexcept;

}  // namespace tokenmill::cache
