// The part of the block vocabulary that plain numbers are enough for: bits of masks, and words of
// tables. For targets without the bit instructions of BMI2. Text inside a target's namespace,
// before its block_<target>.h.

using simd::ByteMasks;
using simd::EntryMasks;

inline unsigned trailing_zeros(std::uint64_t bits) noexcept {
    return zeros_below(bits);  // needs bits != 0
}
// 64 if there is none.
inline unsigned first_bit(std::uint64_t bits) noexcept {
    return bits == 0 ? 64U : trailing_zeros(bits);
}
inline unsigned top_bit(std::uint64_t bits) noexcept {
    return 63U - zeros_above(bits);  // needs bits != 0
}
inline unsigned count_bits(std::uint64_t bits) noexcept {
    return ones_of(bits);
}
// How many of the highest bits are ones.
inline unsigned leading_ones(std::uint64_t bits) noexcept {
    return ~bits == 0 ? 64U : zeros_above(~bits);
}
// The bits of `bits` at the ones of `at`, side by side from bit 0 on; and back.
inline std::uint64_t extract_bits(std::uint64_t bits, std::uint64_t at) noexcept {
    std::uint64_t out = 0;
    for (unsigned k = 0; at != 0; at &= at - 1) {
        out |= (bits >> trailing_zeros(at) & 1) << k++;
    }
    return out;
}
inline std::uint64_t deposit_bits(std::uint64_t bits, std::uint64_t at) noexcept {
    std::uint64_t out = 0;
    for (; at != 0; at &= at - 1, bits >>= 1) {
        out |= (bits & 1) << trailing_zeros(at);
    }
    return out;
}
inline std::uint64_t keep_bytes(std::uint64_t word, unsigned count) noexcept {
    return count >= 8 ? word : word & ((std::uint64_t{1} << (8 * count)) - 1);
}

// Bit i: keys[i] == key, for four keys.
inline unsigned equal_keys(const std::uint64_t* keys, std::uint64_t key) noexcept {
    unsigned same = 0;
    for (unsigned i = 0; i < 4; ++i) {  // other threads may write keys meanwhile
        same |= (load_acquire(keys[i]) == key ? 1U : 0U) << i;
    }
    return same;
}

// Bit 2 * i: keys[2 * i] and keys[2 * i + 1] are the pair, for two pairs.
inline unsigned equal_pairs(const std::uint64_t* keys, const std::uint64_t* pair) noexcept {
    unsigned same = 0;
    for (std::size_t i = 0; i < 2; ++i) {  // the upper number is written last
        const std::uint64_t high = load_acquire(keys[2 * i + 1]) ^ pair[1];
        const std::uint64_t low = load_acquire(keys[2 * i]) ^ pair[0];
        same |= ((high | low) == 0 ? 1U : 0U) << (2 * i);
    }
    return same;
}

// Writes the three ids of a packed value; room for three is needed whatever the count.
inline void store_inline_ids(std::uint32_t* out, std::uint64_t value) noexcept {
    out[0] = static_cast<std::uint32_t>(value) & 0xFFFFF;
    out[1] = static_cast<std::uint32_t>(value >> 20) & 0xFFFFF;
    out[2] = static_cast<std::uint32_t>(value >> 40) & 0xFFFFF;
}

inline bool equal_key32(const std::uint64_t* a, const std::uint64_t* b) noexcept {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}
