// encode: ends of units in a block -> units of the batch, for targets of 128 bits, whose vectors
// cannot multiply numbers of 64 bits: so with plain numbers. Text inside a target's namespace,
// after units-inl.h. See append-inl.h for the meaning. Units are appended eight and then four at a
// time, because a loop over the bits of a mask ends with a jump that no CPU foresees; those past
// the last end are overwritten by the next block.

#include "encode/units_plain-inl.h"

// The units that end in a block, in order.
template <bool kCuts>
struct EndsScan {
    const std::uint8_t* at;   // the block
    BitQueue ends;            // those that come after `start`
    std::uint64_t cuts;       // bit i: end i is a cut
    std::int64_t start;       // of the next unit; below 0 if that is before the block
    std::uint64_t cut_start;  // kCutStart where that is a cut
    unsigned shift;

    // Two at a time are stored together.
    template <unsigned kCount>
    TOKENMILL_INLINE void append(std::uint64_t* to_keys, std::uint32_t* to_lines,
                                 encode::Unit* to_units) noexcept {
        for (unsigned k = 0; k < kCount; k += 2) {
            append_two(to_keys + k, to_lines + k, to_units + k);
        }
    }

    TOKENMILL_INLINE void append_two(std::uint64_t* to_keys, std::uint32_t* to_lines,
                                     encode::Unit* to_units) noexcept {
        const encode::Unit base = encode::make_unit(at, 0, 0);
        std::uint64_t keys[2];
        std::uint32_t lines[2];
        encode::Unit units[2];
        for (unsigned k = 0; k < 2; ++k) {
            const std::int64_t end = ends.take();
            const auto size = static_cast<std::uint64_t>(end - start);
            const std::uint64_t key =
                load<std::uint64_t>(at + start) & kKeyMasks.of[static_cast<std::size_t>(size)];
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
        std::memcpy(to_keys, keys, sizeof(keys));
        to_lines[0] = lines[0];  // one by one: as 64 bits the compiler would put them together
        to_lines[1] = lines[1];
        std::memcpy(to_units, units, sizeof(units));
    }
};

// Adds the units to the list of longer ones whose starts are in `longer`, and the first unit.
TOKENMILL_INLINE void list_longer(encode::WordEncoder& e, std::uint64_t ends, std::uint64_t longer,
                                  bool is_first_longer) noexcept {
    std::uint32_t n = e.longer_count;
    e.longer[n] = static_cast<std::uint16_t>(e.count);
    n += std::uint32_t{is_first_longer};
    for (; longer != 0; longer &= longer - 1) {
        const std::uint64_t before = (longer & (0 - longer)) - 1;
        e.longer[n++] = static_cast<std::uint16_t>(e.count + count_bits(ends & before) + 1);
    }
    e.longer_count = n;
}

template <bool kCuts>
TOKENMILL_INLINE void append_ends(encode::WordEncoder& e, const std::uint8_t* at,
                                  std::uint64_t ends, std::uint64_t cuts,
                                  const OpenUnit& open) noexcept {
    const unsigned last = top_bit(ends);
    const std::int64_t start = open.begin - at;
    EndsScan<kCuts> units = {at,    BitQueue(ends), cuts,
                             start, open.cut_start, encode::Line8::shift_of(e.tables.bits.words8)};
    std::uint32_t n = e.count;
    units.template append<8>(e.key + n, e.line + n, e.unit + n);
    for (n += 8; !units.ends.is_empty(); n += 4) {
        units.template append<4>(e.key + n, e.line + n, e.unit + n);
    }
    list_longer(e, ends, starts_of_longer(ends) & ~(std::uint64_t{1} << last),
                std::int64_t{trailing_zeros(ends)} - start > 8);
    e.count += count_bits(ends);
}
