// split/masks: 64 bytes -> one bit for each byte that starts a word. Text compiled once per target,
// inside its namespace, after simd's block vocabulary and classify-inl.h.
//
// A block holds whole characters and passes one bit per class to the next block (Carry). Where the
// algebra does not reach (some Han, rare tails) a block is complex: the DFA takes over
// at the start of the open word, because a scan from there needs no memory of what came before.
//
// In the pictures bit 0 is on the left, as in the text; _ is a blank, n a newline. "x << 1" is
// therefore "the byte after an x", and the carry is its bit for the last byte of the block before.

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
    if ((c.white >> top & 1) != 0) {  // the run reaches the next block: look at its first character
        const std::uint8_t* next = block.at + block.size;
        const unsigned ends = numbers_end_text ? split::kWhite | split::kNumber : split::kWhite;
        const bool continues = next == block.end || (class_bits_at(split, next) & ends) != 0;
        followed |= std::uint64_t{continues} << top;
    }
    return split::first_bytes_of(c.white & ~followed, c.continuation);
}

// Bytes of the contraction at `at` (an apostrophe), or 0.
inline unsigned contraction_at(const split::Rule& rule, const std::uint8_t* at,
                               const std::uint8_t* end) noexcept {
    const auto left = end - at;
    if (left < 2) {
        return 0;
    }
    return split::contraction_size(at[1], left < 3 ? 0U : at[2],
                                   rule.contraction == split::Contraction::IgnoreCase,
                                   rule.fold_long_s != 0);
}

// What contractions change in the starts that follow from the classes.
struct Contractions {
    std::uint64_t inside = 0;  // bytes of a contraction: they start nothing
    std::uint64_t after = 0;   // the byte after it starts a word

    [[nodiscard]] std::uint64_t apply(std::uint64_t starts) const noexcept {
        return (starts & ~inside) | after;
    }
};

// The contractions at `apostrophes`, and those that reach in from the block before. One that is a
// word by itself starts at its apostrophe; an attached one belongs to the letters before it.
//   text            i t ' l l _
//   starts          1 0 1 1 0 1    by class: punctuation, then letters
//   inside          0 0 0 1 1 0    attached: 0 0 1 1 1 0
//   after           0 0 0 0 0 1
//   result          1 0 1 0 0 1    attached: 1 0 0 0 0 1
template <bool kAttached>
TOKENMILL_INLINE Contractions find_contractions(const split::Rule& rule, const Block& block,
                                                std::uint64_t apostrophes, Carry& carry) noexcept {
    Contractions found{carry.clear, carry.set};
    carry.clear = 0;
    carry.set = 0;
    if (rule.contraction == split::Contraction::None) {
        return found;
    }
    for (std::uint64_t rest = apostrophes; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const unsigned size = contraction_at(rule, block.at + i, block.end);
        if (size == 0 || (kAttached && (found.after >> i & 1) != 0)) {
            continue;  // of two attached ones in a row the second one starts a word
        }
        const std::uint64_t inside = low_bits(size) - (kAttached ? 0 : 1);
        const unsigned next = i + size;
        found.inside |= inside << i;
        if (next < block.size) {
            found.after |= std::uint64_t{1} << next;
        } else {  // its end is in the next block
            carry.clear |= inside >> (block.size - i);
            carry.set |= std::uint64_t{1} << (next - block.size);
        }
    }
    return found;
}

// Starts of numbers that are words by themselves, in groups of at most rule.digits. The carry knows
// how many digits the open group has: a run may be longer than a block.
TOKENMILL_INLINE std::uint64_t number_starts(const split::Rule& rule, const Classes& c,
                                             Carry& carry) noexcept {
    const std::uint64_t leads = c.number & ~c.continuation;
    if (rule.digits == 1) {
        return leads;
    }
    const std::uint64_t run_starts = leads & ~(c.number << 1 | carry.number);
    return split::group_starts(leads, run_starts, rule.digits, carry.phase);
}

// Family BlankPrefix: a run of letters, of numbers or of punctuation is a word, with the blank
// before it. Further white space is a word without its last blank.
//   text      i t ' s _ _ 4 2
//   letter    1 1 0 1 0 0 0 0    starts 1 0 0 1 0 0 0 0   first of a run, not after a blank
//   other     0 0 1 0 0 0 0 0    starts 0 0 1 0 0 0 0 0   the same
//   number    0 0 0 0 0 0 1 1    starts 0 0 0 0 0 0 0 0   the same: here the blank starts the word
//   white     0 0 0 0 1 1 0 0    starts 0 0 0 0 1 1 0 0   first and last of a run
//   's                          inside 0 0 0 1 0 0 0 0   and the word after it starts at the blank
//   result    1 0 1 0 1 1 0 0    it, 's, _, _42
TOKENMILL_INLINE std::uint64_t blank_prefix_starts(const split::SplitView& split,
                                                   const Block& block, const Classes& c,
                                                   Carry& carry) noexcept {
    const split::Rule& rule = split.rule;
    const bool isolate = rule.isolate_digits != 0;
    const std::uint64_t after_space = c.space << 1 | carry.space;
    const std::uint64_t letter = c.letter & ~(c.letter << 1 | carry.letter) & ~after_space;
    const std::uint64_t other = c.other & ~(c.other << 1 | carry.other) & ~after_space;
    std::uint64_t number = 0;
    if (isolate) {
        number = c.number & ~c.continuation;
    } else if (rule.digits == 0) {
        number = c.number & ~(c.number << 1 | carry.number) & ~after_space;
    } else {
        number = number_starts(rule, c, carry);
    }
    const std::uint64_t white =
        (c.white & ~(c.white << 1 | carry.white)) | last_of_white_runs(split, block, c, isolate);
    return find_contractions<false>(rule, block, c.apostrophe & other, carry)
        .apply(letter | other | number | white);
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
    for (std::uint64_t rest = blanks & after_newline & ~after_absorbed; rest != 0;
         rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const std::uint64_t others = ~(blanks >> i);
        const unsigned run_end = others == 0 ? 64 : i + trailing_zeros(others);
        bool is_start = false;
        if (run_end < block.size) {
            is_start = (c.newline >> run_end & 1) == 0;
        } else {
            is_start = split::starts_after_newline(
                look_along_white(split, block.at + block.size, block.end), split.rule.end_run != 0);
        }
        starts |= std::uint64_t{is_start} << i;
    }
    starts |= last_of_white_runs(split, block, c, false) & ~c.newline;
    return starts & ~c.continuation;
}

// Word starts of a block, unless the masks cannot know them.
struct Starts {
    std::uint64_t bits;
    bool is_complex;  // nothing of the block may be used: the DFA scans it
};

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

// Families AnyPrefix and Cased: letters with any one character before them that is not a newline,
// letter or number; punctuation with the blank before it and the newlines after it.
//   text      a _ ( b ) . n _ c
//   letter    1 0 0 1 0 0 0 0 1
//   other     0 0 1 0 1 1 0 0 0
//   prefix    0 0 0 0 1 0 0 0 0    first of punctuation, not after a blank: letters may follow it
//   absorbed  0 0 0 0 0 0 1 0 0
//   letters   1 0 0 1 0 0 0 0 0    first of a run, not after a blank or a prefix
//   white     0 1 0 0 0 0 0 1 0
//   result    1 1 0 1 1 0 0 1 0    a, _(, b, ).n, _c
template <split::Family F>
TOKENMILL_INLINE Starts any_prefix_starts(const split::SplitView& split, const Block& block,
                                          const Classes& c, Carry& carry) noexcept {
    constexpr bool kCased = F == split::Family::Cased;
    const split::Rule& rule = split.rule;
    if (kCased && c.complex) {
        return {0, true};
    }
    const std::uint64_t after_other = c.other << 1 | carry.other;
    const std::uint64_t after_blank = (c.white & ~c.newline) << 1 | (carry.white & ~carry.newline);
    const std::uint64_t after_letter = c.letter << 1 | carry.letter;
    const std::uint64_t absorbed =
        rule.tail == split::NewlineTail::None ? 0 : absorbed_newlines(c, after_other, carry);
    if (rule.tail == split::NewlineTail::CrLfSlash &&
        ((absorbed << 1 | carry.absorbed) & equal_mask(block.bytes, '/')) != 0) {
        return {0, true};  // a slash in the tail: the masks take it for punctuation
    }
    const std::uint64_t other = c.other & ~after_other & ~(c.space << 1 | carry.space);
    const std::uint64_t prefix = split::all_bytes_of(other, c.continuation);
    const std::uint64_t letter =
        c.letter & ~after_letter & ~after_blank & ~(prefix << 1 | carry.prefix);
    std::uint64_t starts = letter | other | white_starts(split, block, c, absorbed, carry) |
                           number_starts(rule, c, carry);
    if constexpr (kCased) {
        starts |= case_starts(split, block, c, carry);
    }
    const std::uint64_t apostrophes = c.apostrophe & other & (kCased ? after_letter : ~0ULL);
    const Contractions found = find_contractions<kCased>(rule, block, apostrophes, carry);
    if (kCased && (found.after & c.both) != 0) {
        return {0, true};  // the masks take the contraction's letters for a part of the next word
    }
    carry.prefix = prefix >> (block.size - 1) & 1;
    carry.absorbed = absorbed >> (block.size - 1) & 1;
    return {found.apply(starts), false};
}

// The classes of the block's last character, for the next block.
template <split::Family F>
TOKENMILL_INLINE void carry_over(const Block& block, const Classes& c, Carry& carry) noexcept {
    const unsigned top = block.size - 1;
    carry.letter = c.letter >> top & 1;
    carry.number = c.number >> top & 1;
    carry.other = c.other >> top & 1;
    carry.white = c.white >> top & 1;
    carry.newline = c.newline >> top & 1;
    carry.space = c.space >> top & 1;
    if constexpr (F == split::Family::Cased) {
        carry.lower = c.lower >> top & 1;
        carry.both = c.both >> top & 1;
        carry.han = c.han >> top & 1;
    }
}

// Scans a complex block: words by the DFA from the start of the open word until one ends at or
// after `until`. Returns that end; masks may continue there with an empty carry.
template <typename Sink>
inline const std::uint8_t* scan_complex(const split::SplitView& split, Sink& sink,
                                        const std::uint8_t* until, const std::uint8_t* stop,
                                        const std::uint8_t* end) {
    const std::uint8_t* word = sink.open_word();
    while (word < until && word < stop) {
        const std::uint8_t* next = split::match_end(split.stages[0], word, end);
        next = next == nullptr ? word + char_size(*word) : next;
        sink.close_word(next);
        word = next;
    }
    return word;
}

// Words of [begin, stop) by a rule. Looks ahead up to `end`; a word must end at `stop`. Memory up
// to `readable` may be loaded.
template <split::Family F, typename Sink>
inline void scan_masks(const split::SplitView& split, Sink& sink, const std::uint8_t* begin,
                       const std::uint8_t* stop, const std::uint8_t* end,
                       const std::uint8_t* readable) {
    Carry carry;
    sink.open(begin);
    for (const std::uint8_t* at = begin; at < stop;) {
        std::uint8_t copy[kReadableBlock];
        Block block = block_at(at, stop, end, readable, copy);
        const ByteMasks m = byte_masks(block.bytes);
        const Classes c = classify<F>(split, block, m, carry, sink);
        Starts starts{};
        if constexpr (F == split::Family::BlankPrefix) {
            starts.bits = blank_prefix_starts(split, block, c, carry);
        } else {
            starts = any_prefix_starts<F>(split, block, c, carry);
        }
        if (starts.is_complex) {
            at = scan_complex(split, sink, at + block.size, stop, end);
            carry = Carry{};
            sink.open(at);
            continue;
        }
        carry_over<F>(block, c, carry);
        sink.add_block(block.at, starts.bits, c.cuts & ~starts.bits,
                       (m.nul & low_bits(block.size)) != 0);
        at += block.size;
    }
    sink.close_word(stop);
}

// Words by the chain of DFAs, for splits without a rule: stage `number` cuts [begin, stop) into
// matches and the gaps between them, and each piece that it keeps goes through the next stage.
template <typename Sink>
inline void scan_stages(const split::SplitView& split, std::size_t number, Sink& sink,
                        const std::uint8_t* begin, const std::uint8_t* stop,
                        const std::uint8_t* end) {
    if (number == split.stage_count) {
        sink.add_word(begin, stop);
        return;
    }
    const split::Stage& stage = split.stages[number];
    const std::uint8_t* gap = begin;
    const std::uint8_t* at = begin;
    while (at < stop) {
        const std::uint8_t* next = split::match_end(stage, at, end);
        if (next == nullptr) {
            at += split::step_size(stage, *at);
            continue;
        }
        if (gap < at && stage.keep_gap) {
            scan_stages(split, number + 1, sink, gap, at, at);
        }
        const std::uint8_t* match_stop = next < stop ? next : stop;
        if (stage.keep_match) {
            scan_stages(split, number + 1, sink, at, match_stop, next);
        }
        at = next;
        gap = next;
    }
    if (gap < stop && stage.keep_gap) {
        // The gap continues after `stop` unless a match starts there: later stages may look ahead.
        const bool ends_here = stop == end || split::match_end(stage, stop, end) != nullptr;
        scan_stages(split, number + 1, sink, gap, stop, ends_here ? stop : end);
    }
}
