// Words by 64-byte masks. Text compiled once per target, inside its namespace, behind simd's block
// vocabulary and classify-inl.h.
//
// Blocks hold whole characters and carry one bit a class to the next block. Where the algebra does
// not reach (marks in cased words, rare tails) a block is called complex, and the DFA scans on from
// the start of the open word: a scan from a word start needs no memory of what came before.

inline unsigned class_bits_at(const split::SplitView& split, const std::uint8_t* at) noexcept {
    const unsigned size = char_size(*at);
    return split.rule_classes.of(decode_char(at, size));
}

// Last white-space character of each run that something else follows, at its first byte.
TOKENMILL_INLINE std::uint64_t last_of_white_runs(const split::SplitView& split, const Block& block,
                                                  const Classes& c,
                                                  bool numbers_end_text) noexcept {
    const unsigned top = block.size - 1;
    std::uint64_t followed = c.white >> 1 | (numbers_end_text ? c.number >> 1 : 0);
    if ((c.white >> top & 1) != 0) {
        const std::uint8_t* next = block.at + block.size;
        const unsigned ends = numbers_end_text ? split::kWhite | split::kNumber : split::kWhite;
        const bool goes_on = next == block.end || (class_bits_at(split, next) & ends) != 0;
        followed |= std::uint64_t{goes_on} << top;
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

TOKENMILL_INLINE std::uint64_t number_starts(const split::Rule& rule, const Classes& c,
                                             Carry& carry) noexcept {
    const std::uint64_t leads = c.number & ~c.continuation;
    if (rule.digits == 1) {
        return leads;
    }
    const std::uint64_t run_starts = leads & ~(c.number << 1 | carry.number);
    return split::group_starts(leads, run_starts, rule.digits, carry.phase);
}

// Letters, numbers and punctuation each with a blank at the most before them.
TOKENMILL_INLINE std::uint64_t blank_prefix_starts(const split::SplitView& split,
                                                   const Block& block, const Classes& c,
                                                   Carry& carry) noexcept {
    const split::Rule& rule = split.rule;
    const bool isolate = rule.isolate_digits != 0;
    const std::uint64_t after_space = c.space << 1 | carry.space;
    const std::uint64_t letter = c.letter & ~(c.letter << 1 | carry.letter);
    const std::uint64_t other = c.other & ~(c.other << 1 | carry.other) & ~after_space;
    std::uint64_t number = 0;
    if (isolate) {
        number = c.number & ~c.continuation;
    } else if (rule.digits == 0) {
        number = c.number & ~(c.number << 1 | carry.number) & ~after_space;
    } else {
        number = number_starts(rule, c, carry);
    }
    std::uint64_t starts = (letter & ~after_space) | other | number |
                           (c.white & ~(c.white << 1 | carry.white)) |
                           last_of_white_runs(split, block, c, isolate);
    starts = (starts & ~carry.clear) | carry.set;
    carry.clear = 0;
    carry.set = 0;
    if (rule.contraction != split::Contraction::None) {
        for (std::uint64_t rest = c.apostrophe & other; rest != 0; rest &= rest - 1) {
            const unsigned i = trailing_zeros(rest);
            const unsigned size = contraction_at(rule, block.at + i, block.end);
            if (size == 0) {
                continue;
            }
            const unsigned letter_at = i + 1;
            const unsigned next_at = i + size;
            if (letter_at < block.size) {
                starts &= ~(std::uint64_t{1} << letter_at);
            } else {
                carry.clear = 1;
            }
            if (next_at < block.size) {
                starts |= std::uint64_t{1} << next_at;
            } else {
                carry.set |= std::uint64_t{1} << (next_at - block.size);
            }
        }
    }
    return starts;
}

// What follows the blank at `at`, which stands behind a newline: does its white-space run hold
// another newline, or does it reach the end of the text?
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

// Newlines directly behind punctuation, with all that follow them.
TOKENMILL_INLINE std::uint64_t absorbed_newlines(const Classes& c, std::uint64_t after_other,
                                                 const Carry& carry) noexcept {
    // A run that starts behind punctuation: adding its first bit carries through and clears it.
    const std::uint64_t first = c.newline & (after_other | carry.absorbed);
    return c.newline & ~(c.newline + first);
}

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

// Letters with any one character before them that is no newline, letter or number.
// False: the block is complex, nothing of it may be used.
template <split::Family F>
TOKENMILL_INLINE bool any_prefix_starts(const split::SplitView& split, const Block& block,
                                        const Classes& c, Carry& carry,
                                        std::uint64_t& out) noexcept {
    constexpr bool kCased = F == split::Family::Cased;
    const split::Rule& rule = split.rule;
    if (kCased && (c.complex || (c.upper & (c.both << 1 | carry.both)) != 0)) {
        return false;
    }
    const std::uint64_t after_other = c.other << 1 | carry.other;
    const std::uint64_t after_blank = (c.white & ~c.newline) << 1 | (carry.white & ~carry.newline);
    const std::uint64_t after_letter = c.letter << 1 | carry.letter;
    const std::uint64_t absorbed =
        rule.tail == split::Tail::None ? 0 : absorbed_newlines(c, after_other, carry);
    if (rule.tail == split::Tail::CrLfSlash &&
        ((absorbed << 1 | carry.absorbed) & equal_mask(block.bytes, '/')) != 0) {
        return false;
    }
    // First character of punctuation that is not behind a blank: it may lead letters.
    const std::uint64_t other = c.other & ~after_other & ~(c.space << 1 | carry.space);
    const std::uint64_t prefix = split::all_bytes_of(other, c.continuation);
    std::uint64_t starts =
        other | (c.letter & ~after_letter & ~after_blank & ~(prefix << 1 | carry.prefix));
    starts |= white_starts(split, block, c, absorbed, carry);
    starts |= number_starts(rule, c, carry);
    std::uint64_t set = carry.set;
    carry.set = 0;
    if constexpr (kCased) {
        starts |= c.upper & ~c.continuation & (c.lower << 1 | carry.lower);
        starts |= c.han & ~c.continuation & ~(c.han << 1 | carry.han);
        starts &= ~carry.clear;
        carry.clear = 0;
    }
    if (rule.contraction != split::Contraction::None) {
        // Alone in front (any prefix), or attached to the letters before it (cased).
        for (std::uint64_t rest =
                 c.apostrophe & other & (kCased ? after_letter : ~std::uint64_t{0});
             rest != 0; rest &= rest - 1) {
            const unsigned i = trailing_zeros(rest);
            const unsigned size = contraction_at(rule, block.at + i, block.end);
            if (size == 0 || (kCased && (set >> i & 1) != 0)) {
                continue;  // two in a row: the second one starts a word
            }
            const unsigned next_at = i + size;
            if (kCased) {  // upper case inside of it begins nothing either
                starts &= ~(low_bits(size) << i);
                carry.clear = next_at > block.size ? low_bits(size) >> (block.size - i) : 0;
            }
            if (next_at < block.size) {
                set |= std::uint64_t{1} << next_at;
            } else {
                carry.set |= std::uint64_t{1} << (next_at - block.size);
            }
        }
    }
    out = starts | set;
    carry.prefix = prefix >> (block.size - 1) & 1;
    carry.absorbed = absorbed >> (block.size - 1) & 1;
    return true;
}

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

// Scans words by the DFA from the open word's start until `until` is passed; returns where it is.
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

// Words of [begin, stop), looking ahead up to `end`; a word must end at `stop`.
// `readable` is the end of the memory behind the text.
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
        std::uint64_t starts = 0;
        if constexpr (F == split::Family::BlankPrefix) {
            starts = blank_prefix_starts(split, block, c, carry);
        } else if (!any_prefix_starts<F>(split, block, c, carry, starts)) {
            at = scan_complex(split, sink, at + block.size, stop, end);
            carry = Carry{};
            sink.open(at);
            continue;
        }
        carry_over<F>(block, c, carry);
        sink.add_block(block.at, starts, c.cuts & ~starts, (m.nul & low_bits(block.size)) != 0);
        at += block.size;
    }
    sink.close_word(stop);
}

// Words by the chain of DFAs, for splits without a rule.
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
        // The piece goes on behind `stop` unless a match starts there; later stages may look ahead.
        const bool ends_here = stop == end || split::match_end(stage, stop, end) != nullptr;
        scan_stages(split, number + 1, sink, gap, stop, ends_here ? stop : end);
    }
}
