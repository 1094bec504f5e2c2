// encode: ends of units in a block -> units of the batch. Text compiled once per target, inside its
// namespace, after the target's own append_inner.

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
