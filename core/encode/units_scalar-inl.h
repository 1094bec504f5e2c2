// encode: ends of units in a block -> units of the batch, with plain numbers. Text inside a
// target's namespace, after units-inl.h. A loop over the bits of a mask ends with a jump that no
// CPU foresees: so units are appended eight at a time, and those past the last end are overwritten
// by the next block.

// How many bits of the first eight bytes make the key of a unit, by its size: none if it is longer.
constexpr std::uint8_t kKeyBytes[65] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

// The units of a block that start at one of its ends, in order.
template <bool kCuts>
struct InnerUnits {
    const std::uint8_t* at;  // the block
    std::uint64_t rest;      // ends that come after `start`
    std::uint64_t cuts;
    unsigned start;

    TOKENMILL_INLINE void append(UnitWriter& to, std::uint32_t n) noexcept {
        const unsigned end = trailing_zeros(rest | std::uint64_t{1} << 63);
        rest &= rest - 1;
        const unsigned size = end - start;
        const std::uint64_t key = keep_bytes(load<std::uint64_t>(at + start), kKeyBytes[size]);
        to.e.key[n] = key;
        to.e.line[n] = static_cast<std::uint32_t>(hash_word(key) >> to.shift);
        encode::Unit unit = encode::make_unit(at + start, size, 0);
        if constexpr (kCuts) {
            unit |= (cuts >> start & 1) * encode::kCutStart | (cuts >> end & 1) * encode::kCutEnd;
        }
        to.e.unit[n] = unit;
        start = end;
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

template <bool kCuts>
TOKENMILL_INLINE void append_inner(UnitWriter& to, const std::uint8_t* at, std::uint64_t ends,
                                   std::uint64_t cuts) noexcept {
    const unsigned count = count_bits(ends) - 1;
    const unsigned last = top_bit(ends);
    InnerUnits<kCuts> units = {at, ends & (ends - 1), cuts, trailing_zeros(ends)};
    for (unsigned g = 0; g < count; g += 8) {
        for (unsigned k = 0; k < 8; ++k) {
            units.append(to, to.n + g + k);
        }
    }
    std::uint64_t longer = starts_of_longer(ends) & ~(std::uint64_t{1} << last);
    const std::uint32_t n_longer = to.n_longer + count_bits(longer);
    for (std::uint32_t* j = &to.n_longer; *j < n_longer; ++*j) {
        const std::uint64_t before = (longer & (0 - longer)) - 1;
        to.e.longer[*j] = static_cast<std::uint16_t>(to.n + count_bits(ends & before));
        longer &= longer - 1;
    }
    to.n += count;
}

// Units that end at the bits of `ends` in the block at `at`; the first starts at `unit`, which may
// be before the block. Where `cuts` has the bit of an end, what ends and what starts there are
// pieces of a word; `cut_start` is kCutStart where that holds for `unit`. Needs 8 readable bytes
// after the block.
inline void append_block(encode::WordEncoder& e, const std::uint8_t* at, std::uint64_t ends,
                         std::uint64_t cuts, const std::uint8_t*& unit,
                         std::uint64_t& cut_start) noexcept {
    if (ends == 0) {
        return;
    }
    UnitWriter to(e);
    const unsigned first = trailing_zeros(ends);
    to.append(unit, static_cast<std::uint64_t>(at + first - unit),
              cut_start | (cuts >> first & 1) * encode::kCutEnd, load<std::uint64_t>(unit));
    if (cuts == 0) {
        append_inner<false>(to, at, ends, 0);
    } else {
        append_inner<true>(to, at, ends, cuts);
    }
    const unsigned last = top_bit(ends);
    cut_start = (cuts >> last & 1) * encode::kCutStart;
    unit = at + last;
}
