// split/masks: 64 bytes -> one bit for each byte that starts a word. Text compiled once per target,
// inside its namespace, after simd's block vocabulary, classify-inl.h, white-inl.h and cased-inl.h.
//
// A block holds whole characters and passes one bit per class to the next block (Carry). Where the
// algebra does not reach (some Han, rare tails) a block is complex: the DFA takes over at the start
// of the open word, because a scan from there needs no memory of what came before.
//
// In the pictures bit 0 is on the left, as in the text; _ is a blank, n a newline. "x << 1" is
// therefore "the byte after an x", and the carry is its bit for the last byte of the block before.

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
TOKENMILL_INLINE std::uint64_t number_starts(const split::Rule& rule, const Block& block,
                                             const Classes& c, Carry& carry) noexcept {
    const std::uint64_t leads = c.number & ~c.continuation;
    if (rule.digits == 1) {
        return leads;
    }
    const std::uint64_t run_starts = leads & ~(c.number << 1 | carry.number);
    const std::uint64_t pairs = c.number & c.number << 1;
    const std::uint64_t is_unusual =
        (pairs & pairs << 2) | (c.number & (c.continuation | carry.number));
    if (rule.digits == 3 && is_unusual == 0) {  // runs of one to three digits: nearly all text
        const unsigned last_run = leading_ones(c.number << (64 - block.size));
        carry.phase = last_run == 3 ? 0 : last_run;
        return run_starts;
    }
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
        number = number_starts(rule, block, c, carry);
    }
    const std::uint64_t white =
        (c.white & ~(c.white << 1 | carry.white)) | last_of_white_runs(split, block, c, isolate);
    return find_contractions<false>(rule, block, c.apostrophe & other, carry)
        .apply(letter | other | number | white);
}

// Word starts of a block, unless the masks cannot know them.
struct Starts {
    std::uint64_t bits;
    bool is_complex;  // nothing of the block may be used: the DFA scans it
};

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
                           number_starts(rule, block, c, carry);
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
        sink.pause();
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
