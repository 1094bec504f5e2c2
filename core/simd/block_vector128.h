// The vocabulary of 64-byte blocks for targets whose vectors have 128 bits, over the operations of
// vector_<target>.h. Text inside a target's namespace, after that and block_plain.h;
// block_scalar.h has the meaning.

using simd::PairMasks;
using simd::PairTables;
using simd::WideMasks;

// What a function makes of each quarter of a block.
template <typename Function>
TOKENMILL_INLINE Quarters in_quarters(const Quarters& v, Function function) noexcept {
    return {{function(v.of[0]), function(v.of[1]), function(v.of[2]), function(v.of[3])}};
}
template <typename Function>
TOKENMILL_INLINE Quarters in_quarters(const Quarters& a, const Quarters& b,
                                      Function function) noexcept {
    return {{function(a.of[0], b.of[0]), function(a.of[1], b.of[1]), function(a.of[2], b.of[2]),
             function(a.of[3], b.of[3])}};
}
inline Vector any_of_quarters(const Quarters& v) noexcept {
    return either(either(v.of[0], v.of[1]), either(v.of[2], v.of[3]));
}

inline std::uint64_t equals(const Quarters& v, int value) noexcept {
    const Vector wanted = all_bytes(value);
    return sign_mask(in_quarters(v, [&](Vector q) { return equal_bytes(q, wanted); }));
}
inline std::uint64_t at_least(const Quarters& v, int value) noexcept {
    const Vector least = all_bytes(value);
    return sign_mask(in_quarters(v, [&](Vector q) { return at_least_bytes(q, least); }));
}
// first <= byte < first + count
inline Vector is_in_range(Vector v, int first, int count) noexcept {
    return below_bytes(subtract_bytes(v, all_bytes(first)), all_bytes(count));
}
inline std::uint64_t in_range(const Quarters& v, int first, int count) noexcept {
    return sign_mask(in_quarters(v, [&](Vector q) { return is_in_range(q, first, count); }));
}

// The classes of ASCII that masks are needed of, a bit each. A byte has those that the look-ups of
// its two nibbles have in common: letters need two bits, because A to O and P to Z lie in columns
// of different heights.
constexpr unsigned kLettersAToO = 1U << 0;
constexpr unsigned kLettersPToZ = 1U << 1;
constexpr unsigned kDigits = 1U << 2;
constexpr unsigned kControls = 1U << 3;  // 09..0D
constexpr unsigned kSpaces = 1U << 4;
constexpr unsigned kNewlines = 1U << 5;  // 0A and 0D
constexpr unsigned kApostrophes = 1U << 6;
constexpr unsigned kNuls = 1U << 7;

struct AsciiTables {
    constexpr AsciiTables() noexcept {
        for (unsigned byte = 0; byte < 128; ++byte) {
            const unsigned bit = bit_of(byte);
            low[byte & 15U] = static_cast<std::uint8_t>(low[byte & 15U] | bit);
            high[byte >> 4] = static_cast<std::uint8_t>(high[byte >> 4] | bit);
        }
    }
    static constexpr unsigned bit_of(unsigned byte) noexcept {
        const unsigned folded = byte | 0x20;
        if (byte >= 0x40 && folded >= 'a' && folded <= 'z') {
            return folded < 'p' ? kLettersAToO : kLettersPToZ;
        }
        if (byte >= '0' && byte <= '9') {
            return kDigits;
        }
        if (byte >= 9 && byte <= 13) {
            return kControls | (byte == '\n' || byte == '\r' ? kNewlines : 0U);
        }
        return byte == ' ' ? kSpaces : byte == '\'' ? kApostrophes : byte == 0 ? kNuls : 0U;
    }
    std::uint8_t low[16] = {};
    std::uint8_t high[16] = {};
};
constexpr AsciiTables kAscii;

inline ByteMasks byte_masks(const std::uint8_t* at) noexcept {
    const Quarters bytes = load_block(at);
    const Vector low = load16(kAscii.low);
    const Vector high = load16(kAscii.high);
    const EntryMasks found = bit_masks(in_quarters(bytes, [&](Vector q) {
        return both(look_up16(low, low_nibbles(q)), look_up16(high, high_nibbles(q)));
    }));
    ByteMasks m;
    m.non_ascii = sign_mask(bytes);
    m.letter = found.of[0] | found.of[1];
    m.digit = found.of[2];
    m.white = found.of[3] | found.of[4];
    m.space = found.of[4];
    m.newline = found.of[5];
    m.apostrophe = found.of[6];
    m.nul = found.of[7];
    return m;
}

inline WideMasks wide_masks(const std::uint8_t* at) noexcept {
    const Quarters v = load_block(at);
    const std::uint64_t at_least_80 = sign_mask(v);
    const std::uint64_t at_least_c0 = at_least(v, 0xC0);
    const std::uint64_t at_least_e0 = at_least(v, 0xE0);
    return {at_least_80 & ~at_least_c0, at_least_c0 & ~at_least_e0,
            at_least_e0 & ~at_least(v, 0xF0)};
}

inline std::uint64_t upper_mask(const std::uint8_t* at) noexcept {
    return in_range(load_block(at), 'A', 26);
}

inline std::uint64_t equal_mask(const std::uint8_t* at, std::uint8_t byte) noexcept {
    return equals(load_block(at), byte);
}

TOKENMILL_INLINE EntryMasks entry_masks(const std::uint8_t* table, const std::uint8_t* at,
                                        std::uint64_t places) noexcept {
    const Table64 entries(table);
    EntryMasks m = bit_masks(in_quarters(load_block(at), [&](Vector q) { return entries.at(q); }));
    for (std::uint64_t& mask : m.of) {
        mask &= places;
    }
    return m;
}

inline bool is_ascii_block(const std::uint8_t* at) noexcept {
    const Vector any = either(either(load16(at - 3), load16(at)),
                              either(load16(at + 16), either(load16(at + 32), load16(at + 48))));
    return !is_any_sign(any);
}

// The faults of 16 bytes: zero where all is well.
inline Vector utf8_faults(const std::uint8_t* at) noexcept {
    const simd::Utf8Faults& faults = simd::kUtf8Faults;
    const Vector first = load16(at - 1);
    const Vector pair = both(both(look_up16(load16(faults.first_high), high_nibbles(first)),
                                  look_up16(load16(faults.first_low), low_nibbles(first))),
                             look_up16(load16(faults.second_high), high_nibbles(load16(at))));
    // Bit 7 where the byte two before is at least E0, or the one three before at least F0.
    const Vector third = subtract_to_zero(load16(at - 2), all_bytes(0xE0 - 0x80));
    const Vector fourth = subtract_to_zero(load16(at - 3), all_bytes(0xF0 - 0x80));
    return differing(pair, both(either(third, fourth), all_bytes(0x80)));
}

inline bool is_bad_utf8(const std::uint8_t* at) noexcept {
    return is_any(either(either(utf8_faults(at), utf8_faults(at + 16)),
                         either(utf8_faults(at + 32), utf8_faults(at + 48))));
}

inline Vector common_nibble_bits(Vector low, Vector high, Vector bytes) noexcept {
    return both(look_up16(low, low_nibbles(bytes)), look_up16(high, high_nibbles(bytes)));
}

inline bool has_first_byte(const std::uint8_t* low, const std::uint8_t* high,
                           const std::uint8_t* at) noexcept {
    const Vector of_low = load16(low);
    const Vector of_high = load16(high);
    const auto found = [&](std::size_t from) {
        return common_nibble_bits(of_low, of_high, load16(at + from));
    };
    return is_any(either(either(found(0), found(16)), either(found(32), found(48))));
}

inline std::uint64_t prefix_candidates(const std::uint8_t (*low)[16],
                                       const std::uint8_t (*high)[16],
                                       const std::uint8_t* at) noexcept {
    const auto found = [&](unsigned k) {
        const Vector of_low = load16(low[k]);
        const Vector of_high = load16(high[k]);
        return in_quarters(load_block(at + k),
                           [&](Vector q) { return common_nibble_bits(of_low, of_high, q); });
    };
    const Quarters two = in_quarters(found(0), found(1), both);
    return sign_mask(in_quarters(two, found(2), common_bits));
}

inline PairMasks pair_masks(const PairTables& tables, const std::uint8_t* at,
                            std::uint8_t before) noexcept {
    const Table128 kind(tables.kind, tables.wide_kind);
    const Quarters kinds = in_quarters(load_block(at), [&](Vector q) { return kind.at(q); });
    const auto look_up = [&](const std::uint8_t* table) {
        const Vector entries = load16(table);
        return in_quarters(kinds, [&](Vector q) { return look_up16(entries, q); });
    };
    const Quarters previous = move_up(look_up(tables.left), before);
    return {sign_mask(in_quarters(previous, look_up(tables.first), common_bits)),
            sign_mask(in_quarters(previous, look_up(tables.second), common_bits))};
}

// For scan_vector-inl.h: the vectors are joined first, because to make a mask of one takes longer.
inline std::uint64_t stop_mask(const Quarters& v) noexcept {
    const Vector quote = all_bytes('"');
    const Vector backslash = all_bytes('\\');
    const Vector blank = all_bytes(0x20);
    return sign_mask(in_quarters(v, [&](Vector q) {
        return either(either(equal_bytes(q, quote), equal_bytes(q, backslash)),
                      below_bytes(q, blank));
    }));
}
