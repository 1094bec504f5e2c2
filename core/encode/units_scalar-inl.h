// encode: ends of units in a block -> units of the batch, with plain numbers. Text inside a
// target's namespace, after units-inl.h. A loop over the bits of a mask ends with a jump that no
// CPU foresees: so units are appended sixteen at a time, and those past the last end are
// overwritten by the next block.

#include "encode/units_plain-inl.h"

// The units that end in a block, in order.
template <bool kCuts>
struct UnitScan {
    const std::uint8_t* at;   // the block
    std::uint64_t rest;       // ends that come after `start`
    std::uint64_t cuts;       // bit i: end i is a cut
    std::int64_t start;       // of the next unit; below 0 if that is before the block
    std::uint64_t cut_start;  // kCutStart where that is a cut
    unsigned shift;

    // Writes eight.
    TOKENMILL_INLINE void append(std::uint64_t* keys, std::uint32_t* lines,
                                 encode::Unit* units) noexcept {
        const encode::Unit base = encode::make_unit(at, 0, 0);
        for (unsigned k = 0; k < 8; ++k) {
            const std::int64_t end = first_bit(rest);
            rest &= rest - 1;
            const auto size = static_cast<std::uint64_t>(end - start);
            const std::uint64_t key = load<std::uint64_t>(at + start) & kKeyMasks.of[size];
            keys[k] = key;
            lines[k] =
                static_cast<std::uint32_t>(hash_word(key) >> shift & encode::Line8::kFirstByte);
            units[k] = base + (static_cast<std::uint64_t>(start) << 16) + size;
            if constexpr (kCuts) {
                const std::uint64_t is_cut = cuts >> (end & 63) & 1;
                units[k] |= cut_start | is_cut * encode::kCutEnd;
                cut_start = is_cut * encode::kCutStart;
            }
            start = end;
        }
    }
};

// Adds the units to the list of longer ones whose starts are in `longer`, and the first unit.
TOKENMILL_INLINE void list_longer(encode::WordEncoder& e, std::uint64_t ends, std::uint64_t longer,
                                  bool is_first_longer) noexcept {
    std::uint32_t n = e.longer_count;
    e.longer[n] = static_cast<std::uint16_t>(e.count);
    n += std::uint32_t{is_first_longer};
    const std::uint32_t count = n + count_bits(longer);
    do {  // four without a test: hardly a block has more
        for (unsigned k = 0; k < 4; ++k) {
            const std::uint64_t before = (longer & (0 - longer)) - 1;
            e.longer[n + k] = static_cast<std::uint16_t>(e.count + count_bits(ends & before) + 1);
            longer &= longer - 1;
        }
        n += 4;
    } while (unlikely(longer != 0));
    e.longer_count = count;
}

template <bool kCuts>
TOKENMILL_INLINE void append_ends(encode::WordEncoder& e, const std::uint8_t* at,
                                  std::uint64_t ends, std::uint64_t cuts,
                                  const OpenUnit& open) noexcept {
    const unsigned last = top_bit(ends);
    const std::int64_t start = open.begin - at;
    UnitScan<kCuts> units = {at,    ends,           cuts,
                             start, open.cut_start, encode::Line8::shift_of(e.tables.bits.words8)};
    std::uint32_t n = e.count;
    do {
        units.append(e.key + n, e.line + n, e.unit + n);
        units.append(e.key + n + 8, e.line + n + 8, e.unit + n + 8);
        n += 16;
    } while (unlikely(units.rest != 0));
    list_longer(e, ends, starts_of_longer(ends) & ~(std::uint64_t{1} << last),
                std::int64_t{trailing_zeros(ends)} - start > 8);
    e.count += count_bits(ends);
}
