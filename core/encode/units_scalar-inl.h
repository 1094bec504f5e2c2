// encode: ends of units in a block -> units of the batch, with plain numbers. Text inside a
// target's namespace, after units-inl.h. A loop over the bits of a mask ends with a jump that no
// CPU foresees: so units are appended sixteen at a time, and those past the last end are
// overwritten by the next block.

// Which of a unit's first eight bytes make its key, by its size: none if it is longer.
struct KeyMasks {
    constexpr KeyMasks() noexcept {
        for (unsigned size = 1; size <= 8; ++size) {
            of[size] = ~std::uint64_t{0} >> (64 - 8 * size);
        }
    }
    std::uint64_t of[65] = {};
};
constexpr KeyMasks kKeyMasks;

// The units of a block that start at one of its ends, in order.
template <bool kCuts>
struct UnitScan {
    const std::uint8_t* at;  // the block
    std::uint64_t rest;      // ends that come after `start`
    std::uint64_t cuts;
    std::uint64_t start;
    unsigned shift;

    // Writes eight.
    TOKENMILL_INLINE void append(std::uint64_t* keys, std::uint32_t* lines,
                                 encode::Unit* units) noexcept {
        const encode::Unit base = encode::make_unit(at, 0, 0);
        for (unsigned k = 0; k < 8; ++k) {
            const std::uint64_t end = trailing_zeros(rest | std::uint64_t{1} << 63);
            rest &= rest - 1;
            const std::uint64_t size = end - start;
            const std::uint64_t key = load<std::uint64_t>(at + start) & kKeyMasks.of[size];
            keys[k] = key;
            lines[k] =
                static_cast<std::uint32_t>(hash_word(key) >> shift & encode::Line8::kFirstByte);
            units[k] = base + (start << 16 | size);
            if constexpr (kCuts) {
                units[k] |=
                    (cuts >> start & 1) * encode::kCutStart | (cuts >> end & 1) * encode::kCutEnd;
            }
            start = end;
        }
    }
};

// Bit i: the unit that starts at i and ends at the next of `ends` has more than eight bytes.
//   near   an end in one of the eight places after i
inline std::uint64_t starts_of_longer(std::uint64_t ends) noexcept {
    std::uint64_t near = ends >> 1;
    near |= near >> 1;
    near |= near >> 2;
    near |= near >> 4;
    return ends & ~near;
}

// Adds the units to the list of longer ones whose starts are in `longer`.
TOKENMILL_INLINE void list_longer(UnitWriter& to, std::uint64_t ends,
                                  std::uint64_t longer) noexcept {
    const std::uint32_t count = to.n_longer + count_bits(longer);
    do {  // four without a test: hardly a block has more
        for (unsigned k = 0; k < 4; ++k) {
            const std::uint64_t before = (longer & (0 - longer)) - 1;
            to.e.longer[to.n_longer + k] =
                static_cast<std::uint16_t>(to.n + count_bits(ends & before));
            longer &= longer - 1;
        }
        to.n_longer += 4;
    } while (__builtin_expect(longer != 0, 0));
    to.n_longer = count;
}

template <bool kCuts>
TOKENMILL_INLINE void append_inner(UnitWriter& to, const std::uint8_t* at, std::uint64_t ends,
                                   std::uint64_t cuts) noexcept {
    const unsigned count = count_bits(ends) - 1;
    const unsigned last = top_bit(ends);
    UnitScan<kCuts> units = {at, ends & (ends - 1), cuts, trailing_zeros(ends), to.shift};
    std::uint32_t n = to.n;
    do {
        units.append(to.e.key + n, to.e.line + n, to.e.unit + n);
        units.append(to.e.key + n + 8, to.e.line + n + 8, to.e.unit + n + 8);
        n += 16;
    } while (__builtin_expect(units.rest != 0, 0));
    list_longer(to, ends, starts_of_longer(ends) & ~(std::uint64_t{1} << last));
    to.n += count;
}
