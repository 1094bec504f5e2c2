// split/cased: letters of a block -> the words that start inside of cased words. Text compiled once
// per target, inside its namespace, after classify-inl.h and white-inl.h; the pictures are
// explained in split-inl.h.

// Does something other than a letter follow the capitals that continue at `at`?
inline bool ends_in_capitals(const split::SplitView& split, const std::uint8_t* at,
                             const std::uint8_t* end) noexcept {
    for (; at < end; at += char_size(*at)) {
        const unsigned bits = class_bits_at(split, at);
        if ((bits & split::kUpper) == 0) {
            return (bits & (split::kLetter | split::kMark)) == 0;
        }
    }
    return true;
}

// Capitals after caseless letters, where no lower case was before: they start a word if no letter
// follows them.
//   text     X A B _ X A b    X has no case
//   after    0 1 0 0 0 1 0
//   result   0 1 0 0 0 0 0
inline std::uint64_t capitals_at_end(const split::SplitView& split, const Block& block,
                                     const Classes& c, std::uint64_t after) noexcept {
    std::uint64_t starts = 0;
    for (; after != 0; after &= after - 1) {
        const unsigned i = trailing_zeros(after);
        const std::uint64_t others = ~(c.upper >> i);
        const unsigned run_end = others == 0 ? 64 : i + trailing_zeros(others);
        const bool is_start = run_end < block.size
                                  ? (c.letter >> run_end & 1) == 0
                                  : ends_in_capitals(split, block.at + block.size, block.end);
        starts |= std::uint64_t{is_start} << i;
    }
    return starts;
}

// Starts inside the letters of cased words: capitals after lower case, some after caseless letters,
// and runs of Han.
//   text     f o o B A r
//   upper    0 0 0 1 1 0
//   lower    1 1 1 0 0 1
//   result   0 0 0 1 0 0
TOKENMILL_INLINE std::uint64_t case_starts(const split::SplitView& split, const Block& block,
                                           const Classes& c, const Carry& carry) noexcept {
    std::uint64_t capital = c.upper & (c.lower << 1 | carry.lower);
    const std::uint64_t caseless = (c.both & ~c.lower) << 1 | (carry.both & ~carry.lower);
    if ((c.upper & caseless) != 0) {
        capital |= capitals_at_end(split, block, c, c.upper & caseless);
    }
    const std::uint64_t han = c.han & ~(c.han << 1 | carry.han);
    return (capital | han) & ~c.continuation;
}
