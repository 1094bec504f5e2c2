// encode: ends of units in a block -> units of the batch. Text compiled once per target, inside its
// namespace, after the target's own append_ends.

// One at a time.
inline void append_each(encode::WordEncoder& e, const std::uint8_t* at, std::uint64_t ends,
                        std::uint64_t cuts, OpenUnit open) noexcept {
    UnitWriter to(e);
    for (; ends != 0; ends &= ends - 1) {
        const unsigned end = trailing_zeros(ends);
        const std::uint64_t is_cut = cuts >> end & 1;
        to.append(open.begin, static_cast<std::uint64_t>(at + end - open.begin),
                  open.cut_start | is_cut * encode::kCutEnd, load<std::uint64_t>(open.begin));
        open = {at + end, is_cut * encode::kCutStart};
    }
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
    const OpenUnit open = {unit, cut_start};
    if (unlikely(at - unit > kLongestOpen)) {
        append_each(e, at, ends, cuts, open);
    } else if ((cuts | cut_start) == 0) {
        append_ends<false>(e, at, ends, 0, open);
    } else {
        append_ends<true>(e, at, ends, cuts, open);
    }
    const unsigned last = top_bit(ends);
    cut_start = (cuts >> last & 1) * encode::kCutStart;
    unit = at + last;
}
