// split/white: white space of a block -> the words that start in it. Text compiled once per target,
// inside its namespace, after classify-inl.h; the pictures are explained in split-inl.h.

inline unsigned class_bits_at(const split::SplitView& split, const std::uint8_t* at) noexcept {
    return split.rule_classes.of(decode_char(at, char_size(*at)));
}

// The last white-space character of each run, if something else follows: it belongs to the next
// word. With `numbers_end_text` a number counts as the end of the text, because numbers are cut off
// before the rule sees the rest.
//   text          a _ _ b
//   white         0 1 1 0
//   white >> 1    1 1 0 0    the next byte is white too
//   result        0 0 1 0
TOKENMILL_INLINE std::uint64_t last_of_white_runs(const split::SplitView& split, const Block& block,
                                                  const Classes& c,
                                                  bool numbers_end_text) noexcept {
    const unsigned top = block.size - 1;
    std::uint64_t followed = c.white >> 1 | (numbers_end_text ? c.number >> 1 : 0);
    // The last run may reach the next block: look at its first character. ASCII without a jump.
    const std::uint8_t* const next = block.at + block.size;
    const unsigned ends = numbers_end_text ? split::kWhite | split::kNumber : split::kWhite;
    if (next < block.end && *next < 0x80) {
        const bool continues = (split.rule_classes.basic[*next] & ends) != 0;
        followed |= std::uint64_t{continues} << top;
    } else if ((c.white >> top & 1) != 0) {
        const bool continues = next == block.end || (class_bits_at(split, next) & ends) != 0;
        followed |= std::uint64_t{continues} << top;
    }
    return split::first_bytes_of(c.white & ~followed, c.continuation);
}

// What ends the run of blanks that continues at `at`, after the end of a block.
inline split::RunEnd look_along_white(const split::SplitView& split, const std::uint8_t* at,
                                      const std::uint8_t* end) noexcept {
    while (at < end) {
        if (*at == '\n' || *at == '\r') {
            return split::kRunNewline;
        }
        if ((class_bits_at(split, at) & split::kWhite) == 0) {
            return split::kRunText;
        }
        at += char_size(*at);
    }
    return split::kRunEndOfText;
}

// Newlines that belong to the punctuation directly before them, with all newlines that follow. The
// sum carries through a run that starts after punctuation, and so clears it.
//   text             . n n n a n
//   newline          0 1 1 1 0 1
//   first            0 1 0 0 0 0
//   newline + first  0 0 0 0 1 1
//   result           0 1 1 1 0 0
TOKENMILL_INLINE std::uint64_t absorbed_newlines(const Classes& c, std::uint64_t after_other,
                                                 const Carry& carry) noexcept {
    const std::uint64_t first = c.newline & (after_other | carry.absorbed);
    return c.newline & ~(c.newline + first);
}

// Those of the runs of blanks at `after` a newline that start a word: no other newline follows
// them. The sum carries through each run to the byte after it.
//   text       n _ _ n _ _ b
//   blanks     0 1 1 0 1 1 0
//   after      0 1 0 0 1 0 0
//   run_ends   0 0 0 1 0 0 1    the first one is a newline
//   result     0 0 0 0 1 0 0
TOKENMILL_INLINE std::uint64_t starts_after_newlines(const split::SplitView& split,
                                                     const Block& block, const Classes& c,
                                                     std::uint64_t after) noexcept {
    const std::uint64_t blanks = c.white & ~c.newline;
    const std::uint64_t run_ends = (blanks + after) & ~blanks;
    const std::uint64_t starts = after & ~deposit_bits(extract_bits(c.newline, run_ends), after);
    const unsigned last = top_bit(after);
    if ((~blanks & low_bits(block.size)) >> last != 0) {
        return starts;
    }
    // The last run reaches the next block.
    const bool is_start = split::starts_after_newline(
        look_along_white(split, block.at + block.size, block.end), split.rule.end_run != 0);
    return (starts & ~(std::uint64_t{1} << last)) | std::uint64_t{is_start} << last;
}

// Starts among white space where newlines end a word: a run up to its last newline is one word, the
// blanks after it another, and of these the last one belongs to the text that follows.
//   text       a n _ _ n _ _ b
//   white      0 1 1 1 1 1 1 0
//   newline    0 1 0 0 1 0 0 0
//   blank after newline
//              0 0 1 0 0 1 0 0    the first run meets a newline, so only the second one starts
//   result     0 1 0 0 0 1 1 0
TOKENMILL_INLINE std::uint64_t white_starts(const split::SplitView& split, const Block& block,
                                            const Classes& c, std::uint64_t absorbed,
                                            const Carry& carry) noexcept {
    const std::uint64_t after_white = c.white << 1 | carry.white;
    const std::uint64_t after_newline = c.newline << 1 | carry.newline;
    const std::uint64_t after_absorbed = absorbed << 1 | carry.absorbed;
    std::uint64_t starts = c.white & ~absorbed & (~after_white | after_absorbed);
    const std::uint64_t blanks = c.white & ~c.newline;
    const std::uint64_t after = blanks & after_newline & ~after_absorbed;
    if (after != 0) {
        starts |= starts_after_newlines(split, block, c, after);
    }
    starts |= last_of_white_runs(split, block, c, false) & ~c.newline;
    return starts & ~c.continuation;
}
