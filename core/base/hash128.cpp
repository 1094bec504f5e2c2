// base/hash128: a text of any length -> 128 bits, under a key.
//
// A block of 64 bytes is eight words w; its sum is NH, which two different blocks share with a
// chance of 2^-64 over the keys k:
//
//   (w0 + k0)(w1 + k1) + (w2 + k2)(w3 + k3) + (w4 + k4)(w5 + k5) + (w6 + k6)(w7 + k7)   mod 2^128
//
// Its halves are chained into two words, each by one multiplication whose halves are folded. Six
// multiplications a block, of which only one waits for the block before.
#include "base/hash128.h"

#include <cstring>

#include "base/hash.h"
#include "base/platform.h"

namespace tokenmill {

namespace {

constexpr std::size_t kBlock = 64;

std::uint64_t folded(std::uint64_t a, std::uint64_t b) noexcept {
    const Product128 product = multiply_128(a, b);
    return product.low ^ product.high;
}

// One step of a generator whose every output depends on all bits of its state.
std::uint64_t next_word(std::uint64_t& state) noexcept {
    state += kGolden;
    std::uint64_t word = (state ^ state >> 32) * kSecond;
    word = (word ^ word >> 32) * kGolden;
    return word ^ word >> 29;
}

TOKENMILL_INLINE void add_block(const std::uint64_t* key, const std::uint8_t* at,
                                Hash128& state) noexcept {
    Product128 sum{0, 0};
    for (std::size_t i = 0; i < 8; i += 2) {
        const Product128 next = multiply_128(load<std::uint64_t>(at + 8 * i) + key[i],
                                             load<std::uint64_t>(at + 8 * i + 8) + key[i + 1]);
        sum.low += next.low;
        sum.high += next.high + (sum.low < next.low ? 1U : 0U);  // the carry
    }
    state.low = folded(state.low ^ sum.low, key[8]);
    state.high = folded(state.high ^ sum.high, key[9]);
}

}  // namespace

HashKey::HashKey(std::uint64_t first, std::uint64_t second) noexcept : words_{} {
    std::uint64_t a = first;
    std::uint64_t b = ~second;
    for (std::uint64_t& word : words_) {
        word = next_word(a) ^ folded(next_word(b) | 1, kGolden);
    }
    words_[8] |= 1;  // an even factor would lose bits
    words_[9] |= 1;
}

Hash128 HashKey::hash(Bytes text, Hash128 start) const noexcept {
    Hash128 state{start.low ^ words_[10], start.high ^ words_[11]};
    const std::uint8_t* at = text.data();
    std::size_t left = text.size();
    for (; left >= kBlock; left -= kBlock, at += kBlock) {
        add_block(words_, at, state);
    }
    if (left > 0) {
        std::uint8_t rest[kBlock] = {};
        std::memcpy(rest, at, left);
        add_block(words_, rest, state);
    }
    // The size ends it: zeros that fill the last block are not text.
    state.low ^= text.size();
    const std::uint64_t low = folded(state.low ^ words_[0], words_[9]) + state.high;
    const std::uint64_t high = folded(state.high ^ words_[1] ^ low, words_[8]);
    return {folded(low ^ words_[2], words_[8]), high};
}

}  // namespace tokenmill
