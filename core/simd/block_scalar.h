// simd/block: the vocabulary of 64-byte blocks in plain C++. No guard, no #include: it is text
// inside a target's namespace, after block_plain.h, which has the rest of it. The other
// block_<target>.h define the same names with the same meaning.

using simd::PairMasks;
using simd::PairTables;
using simd::WideMasks;

inline ByteMasks byte_masks(const std::uint8_t* at) noexcept {
    ByteMasks m{};
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        const unsigned c = at[i];
        const unsigned folded = c | 0x20;
        m.non_ascii |= c >= 0x80 ? bit : 0;
        m.letter |= c < 0x80 && folded >= 'a' && folded <= 'z' ? bit : 0;
        m.digit |= c >= '0' && c <= '9' ? bit : 0;
        m.white |= c == ' ' || (c >= 9 && c <= 13) ? bit : 0;
        m.space |= c == ' ' ? bit : 0;
        m.newline |= c == '\n' || c == '\r' ? bit : 0;
        m.apostrophe |= c == '\'' ? bit : 0;
        m.nul |= c == 0 ? bit : 0;
    }
    return m;
}

inline WideMasks wide_masks(const std::uint8_t* at) noexcept {
    WideMasks m{};
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        m.continuation |= (at[i] & 0xC0) == 0x80 ? bit : 0;
        m.lead2 |= (at[i] & 0xE0) == 0xC0 ? bit : 0;
        m.lead3 |= (at[i] & 0xF0) == 0xE0 ? bit : 0;
    }
    return m;
}

inline std::uint64_t upper_mask(const std::uint8_t* at) noexcept {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < 64; ++i) {
        mask |= at[i] >= 'A' && at[i] <= 'Z' ? std::uint64_t{1} << i : 0;
    }
    return mask;
}

inline std::uint64_t equal_mask(const std::uint8_t* at, std::uint8_t byte) noexcept {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < 64; ++i) {
        mask |= at[i] == byte ? std::uint64_t{1} << i : 0;
    }
    return mask;
}

// The entries of a table of 64 that the low six bits of bytes ask for, at `places`.
inline EntryMasks entry_masks(const std::uint8_t* table, const std::uint8_t* at,
                              std::uint64_t places) noexcept {
    EntryMasks m{};
    for (; places != 0; places &= places - 1) {
        const unsigned i = trailing_zeros(places);
        const std::uint64_t entry = table[at[i] & 63U];
        for (unsigned k = 0; k < 8; ++k) {
            m.of[k] |= (entry >> k & 1) << i;
        }
    }
    return m;
}

// Is a character wrong that ends in these 64 bytes, or should have? Reads the three bytes before.
inline bool is_bad_utf8(const std::uint8_t* at) noexcept {
    const simd::Utf8Faults& faults = simd::kUtf8Faults;
    unsigned bad = 0;
    for (const std::uint8_t* const end = at + 64; at < end; ++at) {
        const unsigned pair = faults.first_high[at[-1] >> 4] & faults.first_low[at[-1] & 15] &
                              faults.second_high[at[0] >> 4];
        const bool follows = at[-2] >= 0xE0 || at[-3] >= 0xF0;
        bad |= pair ^ (follows ? unsigned{simd::kTwoFollowers} : 0U);
    }
    return bad != 0;
}

// Are all 64 bytes ASCII, and the three before them? Then they are UTF-8.
inline bool is_ascii_block(const std::uint8_t* at) noexcept {
    std::uint64_t any = load<std::uint32_t>(at - 3);
    for (unsigned i = 0; i < 64; i += 8) {
        any |= load<std::uint64_t>(at + i);
    }
    return (any & 0x8080808080808080ULL) == 0;
}

// Bytes that a text of the filter may start with: the first of the look-ups of prefix_candidates.
inline bool has_first_byte(const std::uint8_t* low, const std::uint8_t* high,
                           const std::uint8_t* at) noexcept {
    unsigned found = 0;
    for (unsigned i = 0; i < 64; ++i) {
        found |= low[at[i] & 15U] & static_cast<unsigned>(high[at[i] >> 4]);
    }
    return found != 0;
}

// Bytes i where the look-ups of bytes i, i + 1 and i + 2 by their nibbles have a bit in common.
// Reads 66 bytes.
inline std::uint64_t prefix_candidates(const std::uint8_t (*low)[16],
                                       const std::uint8_t (*high)[16],
                                       const std::uint8_t* at) noexcept {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < 64; ++i) {
        unsigned bits = 255;
        for (unsigned k = 0; k < 3; ++k) {
            bits &= low[k][at[i + k] & 15U] & static_cast<unsigned>(high[k][at[i + k] >> 4]);
        }
        found |= bits != 0 ? std::uint64_t{1} << i : 0;
    }
    return found;
}

// Which bytes belong to the one before; `before` has the bits of the byte before the block.
inline PairMasks pair_masks(const PairTables& tables, const std::uint8_t* at,
                            std::uint8_t before) noexcept {
    PairMasks m{};
    unsigned left = before;
    for (unsigned i = 0; i < 64; ++i) {
        const unsigned kind = at[i] < 0x80 ? tables.kind[at[i]] : tables.wide_kind;
        m.first |= std::uint64_t{(tables.first[kind] & left) != 0} << i;
        m.second |= std::uint64_t{(tables.second[kind] & left) != 0} << i;
        left = tables.left[kind];
    }
    return m;
}
