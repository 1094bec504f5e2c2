// packed: ids <-> as few bits each as the vocabulary needs.
#include "cache/packed.h"

#include <cstring>

#include "base/bytes.h"

namespace tokenmill::cache {

void pack_ids(std::span<const TokenId> ids, unsigned bits, std::uint8_t* out) noexcept {
    std::uint64_t open = 0;  // bits that are not written yet, fewer than 8 after each round
    unsigned filled = 0;
    for (const TokenId id : ids) {
        open |= std::uint64_t{id} << filled;
        filled += bits;
        std::memcpy(out, &open, sizeof(open));
        const unsigned whole = filled / 8;
        out += whole;
        open >>= 8 * whole;
        filled -= 8 * whole;
    }
    if (filled != 0) {
        *out = static_cast<std::uint8_t>(open);
    }
}

// Eight ids are `bits` whole bytes, so the shifts of a round are the same in every round.
void unpack_ids(const std::uint8_t* from, std::size_t count, unsigned bits, TokenId* out) noexcept {
    const auto mask = static_cast<TokenId>(low_bits(bits));
    const auto id_at = [&](std::size_t bit) {
        return static_cast<TokenId>(load<std::uint64_t>(from + bit / 8) >> bit % 8) & mask;
    };
    std::size_t done = 0;
    for (; done + 8 <= count; done += 8, from += bits) {
        for (std::size_t i = 0; i < 8; ++i) {
            out[done + i] = id_at(i * bits);
        }
    }
    for (std::size_t i = 0; done + i < count; ++i) {
        out[done + i] = id_at(i * bits);
    }
}

}  // namespace tokenmill::cache
