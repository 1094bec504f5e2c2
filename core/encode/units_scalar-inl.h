// encode: ends of units in a block -> units of the batch, one at a time. Text inside a target's
// namespace, after units-inl.h.

// Units that end at the bits of `ends` in the block at `at`; the first starts at `unit`. Where
// `cuts` has the bit of an end, what ends and what starts there are pieces of a word; `cut_start`
// is kCutStart where that holds for `unit`. Needs 8 readable bytes after the block.
// Not inlined, and on copies of the references: so the loop has the registers for itself.
[[gnu::noinline]] inline void append_block(encode::WordEncoder& e, const std::uint8_t* at,
                                           std::uint64_t ends, std::uint64_t cuts,
                                           const std::uint8_t*& unit,
                                           std::uint64_t& cut_start) noexcept {
    UnitWriter to(e);
    const std::uint8_t* begin = unit;
    std::uint64_t flag = cut_start;
    if ((cuts | flag) == 0) {
        for (; ends != 0; ends &= ends - 1) {
            const std::uint8_t* end = at + trailing_zeros(ends);
            to.append(begin, static_cast<std::uint64_t>(end - begin), 0,
                      load<std::uint64_t>(begin));
            begin = end;
        }
    }
    for (; ends != 0; ends &= ends - 1) {
        const unsigned i = trailing_zeros(ends);
        const std::uint64_t is_cut = cuts >> i & 1;
        to.append(begin, static_cast<std::uint64_t>(at + i - begin),
                  flag | is_cut * encode::kCutEnd, load<std::uint64_t>(begin));
        flag = is_cut * encode::kCutStart;
        begin = at + i;
    }
    unit = begin;
    cut_start = flag;
}
