// Words by 64-byte masks. Text compiled once per target, inside its namespace, behind simd's block
// vocabulary. One bit a byte; a character's bits are set on all of its bytes.
//
// Blocks hold whole characters and carry one bit a class to the next block. Where the algebra does
// not reach (marks in cased words, rare tails) a block is called complex, and the DFA scans on from
// the start of the open word: a scan from a word start needs no memory of what came before.

struct Carry {
    std::uint64_t letter = 0;
    std::uint64_t number = 0;
    std::uint64_t other = 0;
    std::uint64_t white = 0;
    std::uint64_t newline = 0;
    std::uint64_t space = 0;
    std::uint64_t lower = 0;
    std::uint64_t both = 0;
    std::uint64_t han = 0;
    std::uint64_t prefix = 0;    // the last character is punctuation that letters may follow
    std::uint64_t absorbed = 0;  // the last byte is a newline that belongs to punctuation
    std::uint64_t set = 0;       // starts that a contraction puts into the next block
    std::uint64_t clear = 0;     // and the start it takes away there
    std::uint32_t phase = 0;     // digits since the last start, modulo the group
    std::uint32_t previous3 = 0;  // last character if it has three bytes
};

struct Block {
    const std::uint8_t* at;     // in the text
    const std::uint8_t* bytes;  // the same, kReadableBlock readable bytes
    unsigned size;              // at most 64, whole characters
    const std::uint8_t* end;    // of the text: how far one may look ahead
};

struct Classes {
    std::uint64_t letter;
    std::uint64_t number;
    std::uint64_t white;
    std::uint64_t other;
    std::uint64_t upper;
    std::uint64_t lower;
    std::uint64_t both;
    std::uint64_t han;
    std::uint64_t newline;
    std::uint64_t space;
    std::uint64_t apostrophe;
    std::uint64_t continuation;
    std::uint64_t cuts;
    bool complex;
};

inline std::uint64_t when(unsigned bit, std::uint64_t mask) noexcept {
    return mask & (std::uint64_t{0} - (bit & 1U));
}

// Adds one non-ASCII character's class bits to the masks.
template <split::Family F>
inline void add_char(unsigned bits, std::uint32_t code, std::uint64_t mask, Classes& c) noexcept {
    c.letter |= when(bits, mask);
    c.number |= when(bits >> 1, mask);
    c.white |= when(bits >> 2, mask);
    if constexpr (F == split::Family::Cased) {
        c.upper |= when(bits >> 4, mask);
        c.lower |= when(bits >> 5, mask);
        c.both |= when(bits >> 6, mask);
        c.complex |= (bits & split::kMark) != 0;
        if ((bits & split::kHan) != 0) {
            c.han |= mask;
            // Han numbers, radicals and marks are no letters: rare, so left to the DFA.
            c.complex |= code < 0x3400 || (code >= 0x16FE0 && code < 0x17000);
        }
    }
}

// Characters of three bytes: their classes, and the cuts between them. No branch depends on the
// characters but for the rare ones: most are letters, and whether two are joined is a coin toss.
template <split::Family F, typename Sink>
inline void add_chars3(const split::SplitView& split, const Block& block, std::uint64_t leads,
                       Carry& carry, Classes& c, Sink& sink) noexcept {
    const Chars3 chars =
        look_up_chars3(block.bytes, leads, carry.previous3, sink.facts(), sink.junctions());
    const auto spread = [](std::uint64_t first_bytes) {
        return first_bytes | first_bytes << 1 | first_bytes << 2;
    };
    c.letter |= spread(chars.letter);
    if constexpr (F == split::Family::Cased) {
        c.both |= spread(chars.letter & ~chars.unusual);
    }
    for (std::uint64_t rest = chars.unusual; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const std::uint32_t code = decode3(block.bytes + i);
        add_char<F>(split.rule_classes.basic[code], code, std::uint64_t{7} << i, c);
    }
    const std::uint64_t follows = leads & (leads << 3 | std::uint64_t{carry.previous3 != 0});
    std::uint64_t cuts = follows & ~chars.paired;
    for (std::uint64_t rest = cuts & chars.in_doubt; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const std::uint32_t left = i < 3 ? carry.previous3 : decode3(block.bytes + i - 3);
        const bool joined = sink.junctions().joined(left, decode3(block.bytes + i));
        cuts &= ~(std::uint64_t{joined} << i);
    }
    c.cuts = cuts;
    carry.previous3 = top_bit(leads) + 3 == block.size ? chars.last : 0;
}

// Characters of two bytes. A lead byte under which there are only letters needs no look at them:
// all of its characters are done at once, which is most of Cyrillic and Greek.
template <split::Family F>
inline void add_chars2(const split::SplitView& split, const Block& block, std::uint64_t leads,
                       Classes& c) noexcept {
    while (leads != 0) {
        const std::uint8_t lead = block.bytes[trailing_zeros(leads)];
        std::uint64_t same = leads & equal_mask(block.bytes, lead);
        leads &= ~same;
        if (F != split::Family::Cased && (split.letter_leads >> (lead & 31U) & 1U) != 0) {
            c.letter |= same | same << 1;
            continue;
        }
        for (; same != 0; same &= same - 1) {
            const unsigned i = trailing_zeros(same);
            const std::uint32_t code = (lead & 31U) << 6 | (block.bytes[i + 1] & 63U);
            add_char<F>(split.rule_classes.basic[code], code, std::uint64_t{3} << i, c);
        }
    }
}

template <split::Family F, typename Sink>
inline void add_wide_chars(const split::SplitView& split, Block& block, std::uint64_t non_ascii,
                           Carry& carry, Classes& c, Sink& sink) noexcept {
    const WideMasks m = wide_masks(block.bytes);
    std::uint64_t leads = non_ascii & ~m.continuation & low_bits(block.size);
    const unsigned last = top_bit(leads);
    if (last + split::char_size(block.bytes[last]) > block.size) {
        block.size = last;  // the character goes on in the next block: leave it there
        leads &= low_bits(last);
    }
    c.continuation = m.continuation & low_bits(block.size);
    const std::uint64_t leads3 = leads & m.lead3;
    if (leads3 != 0) {
        add_chars3<F>(split, block, leads3, carry, c, sink);
    } else {
        carry.previous3 = 0;
    }
    add_chars2<F>(split, block, leads & m.lead2, c);
    for (std::uint64_t rest = leads & ~leads3 & ~m.lead2; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const std::uint32_t code = split::decode_char(block.bytes + i, 4);
        add_char<F>(split.rule_classes.of(code), code, std::uint64_t{15} << i, c);
    }
}

template <split::Family F, typename Sink>
TOKENMILL_INLINE Classes classify(const split::SplitView& split, Block& block, const ByteMasks& m,
                        Carry& carry, Sink& sink) noexcept {
    constexpr bool kCased = F == split::Family::Cased;
    Classes c;
    std::uint64_t valid = low_bits(block.size);
    c.letter = m.letter & valid;
    c.number = m.digit & valid;
    c.white = m.white & valid;
    c.upper = kCased ? upper_mask(block.bytes) & valid : 0;
    c.lower = kCased ? c.letter & ~c.upper : 0;
    c.both = 0;
    c.han = 0;
    c.continuation = 0;
    c.cuts = 0;
    c.complex = false;
    if ((m.non_ascii & valid) != 0) {
        add_wide_chars<F>(split, block, m.non_ascii, carry, c, sink);
        valid = low_bits(block.size);
        c.letter &= valid;
        c.number &= valid;
        c.white &= valid;
        c.upper &= valid;
        c.lower &= valid;
    } else {
        carry.previous3 = 0;
    }
    c.newline = m.newline & valid;
    c.space = m.space & valid;
    c.apostrophe = m.apostrophe & valid;
    c.other = valid & ~(c.letter | c.number | c.white | c.han);
    return c;
}

inline unsigned class_bits_at(const split::SplitView& split, const std::uint8_t* at) noexcept {
    const unsigned size = split::char_size(*at);
    return split.rule_classes.of(split::decode_char(at, size));
}

// Last white-space character of each run that something else follows, at its first byte.
TOKENMILL_INLINE std::uint64_t last_of_white_runs(const split::SplitView& split, const Block& block,
                                        const Classes& c, bool numbers_end_text) noexcept {
    const unsigned top = block.size - 1;
    std::uint64_t followed = c.white >> 1 | (numbers_end_text ? c.number >> 1 : 0);
    if ((c.white >> top & 1) != 0) {
        const std::uint8_t* next = block.at + block.size;
        const unsigned ends = numbers_end_text ? split::kWhite | split::kNumber : split::kWhite;
        const bool goes_on = next == block.end || (class_bits_at(split, next) & ends) != 0;
        followed |= std::uint64_t{goes_on} << top;
    }
    std::uint64_t last = c.white & ~followed;
    while ((last & c.continuation) != 0) {  // a wide blank: its start is at its lead byte
        last = (last & ~c.continuation) | (last & c.continuation) >> 1;
    }
    return last;
}

// Bytes of the contraction at `at` (an apostrophe), or 0.
inline unsigned contraction_size(const split::Rule& rule, const std::uint8_t* at,
                                 const std::uint8_t* end) noexcept {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < 2) {
        return 0;
    }
    const bool fold = rule.contraction == split::Contraction::IgnoreCase;
    const unsigned bit = fold ? 0x20 : 0;
    if (fold && rule.fold_long_s != 0 && left >= 3 && at[1] == 0xC5 && at[2] == 0xBF) {
        return 3;  // U+017F, long s
    }
    const unsigned a = at[1] | bit;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') {
        return 2;
    }
    if (left < 3) {
        return 0;
    }
    const unsigned b = at[2] | bit;
    const bool is_long = ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l');
    return is_long ? 3 : 0;
}

TOKENMILL_INLINE std::uint64_t number_starts(const split::Rule& rule, const Classes& c,
                                   Carry& carry) noexcept {
    const std::uint64_t leads = c.number & ~c.continuation;
    if (rule.digits == 1) {
        return leads;
    }
    std::uint64_t starts = 0;
    const std::uint64_t run_starts = leads & ~(c.number << 1 | carry.number);
    for (std::uint64_t rest = leads; rest != 0; rest &= rest - 1) {
        const std::uint64_t bit = rest & (0 - rest);
        carry.phase = (run_starts & bit) != 0 ? 0 : carry.phase;
        starts |= carry.phase == 0 ? bit : 0;
        carry.phase = carry.phase + 1 == rule.digits ? 0 : carry.phase + 1;
    }
    return starts;
}

// Letters, numbers and punctuation each with a blank at the most before them.
TOKENMILL_INLINE std::uint64_t blank_prefix_starts(const split::SplitView& split, const Block& block,
                                         const Classes& c, Carry& carry) noexcept {
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
            const unsigned size = contraction_size(rule, block.at + i, block.end);
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
enum class RunEnd { Text, Newline, EndOfText };

inline RunEnd look_along_white(const split::SplitView& split, const std::uint8_t* at,
                               const std::uint8_t* end) noexcept {
    while (at < end) {
        if (*at == '\n' || *at == '\r') {
            return RunEnd::Newline;
        }
        if ((class_bits_at(split, at) & split::kWhite) == 0) {
            return RunEnd::Text;
        }
        at += split::char_size(*at);
    }
    return RunEnd::EndOfText;
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
            const RunEnd run = look_along_white(split, block.at + block.size, block.end);
            is_start = run == RunEnd::Text || (run == RunEnd::EndOfText && split.rule.end_run == 0);
        }
        starts |= std::uint64_t{is_start} << i;
    }
    starts |= last_of_white_runs(split, block, c, false) & ~c.newline;
    return starts & ~c.continuation;
}

// Letters with any one character before them that is no newline, letter or number.
// False: the block is complex, nothing of it may be used.
template <split::Family F>
TOKENMILL_INLINE bool any_prefix_starts(const split::SplitView& split, const Block& block, const Classes& c,
                              Carry& carry, std::uint64_t& out) noexcept {
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
    if (rule.tail == split::Tail::CrLfSlash && ((absorbed << 1 | carry.absorbed) & equal_mask(block.bytes, '/')) != 0) {
        return false;
    }
    // First character of punctuation that is not behind a blank: it may lead letters.
    const std::uint64_t other = c.other & ~after_other & ~(c.space << 1 | carry.space);
    std::uint64_t prefix = other;
    if (c.continuation != 0) {
        prefix |= (prefix << 1) & c.continuation;
        prefix |= (prefix << 1) & c.continuation;
        prefix |= (prefix << 1) & c.continuation;
    }
    std::uint64_t starts = other | (c.letter & ~after_letter & ~after_blank &
                                    ~(prefix << 1 | carry.prefix));
    starts |= white_starts(split, block, c, absorbed, carry);
    starts |= number_starts(rule, c, carry);
    std::uint64_t set = carry.set;
    carry.set = 0;
    if constexpr (kCased) {
        starts |= c.upper & ~c.continuation & (c.lower << 1 | carry.lower);
        starts |= c.han & ~c.continuation & ~(c.han << 1 | carry.han);
    }
    if (rule.contraction != split::Contraction::None) {
        // Alone in front (any prefix), or attached to the letters before it (cased).
        for (std::uint64_t rest = c.apostrophe & other & (kCased ? after_letter : ~std::uint64_t{0});
             rest != 0; rest &= rest - 1) {
            const unsigned i = trailing_zeros(rest);
            const unsigned size = contraction_size(rule, block.at + i, block.end);
            if (size == 0 || (kCased && (set >> i & 1) != 0)) {
                continue;  // two in a row: the second one starts a word
            }
            if (kCased) {
                starts &= ~(std::uint64_t{1} << i);
            }
            const unsigned next_at = i + size;
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
        next = next == nullptr ? word + split::char_size(*word) : next;
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
        Block block{at, at, static_cast<unsigned>(stop - at < 64 ? stop - at : 64), end};
        if (readable - at < kReadableBlock) {
            std::memset(copy, 0, sizeof(copy));
            std::memcpy(copy, at, block.size);
            block.bytes = copy;
        }
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
        sink.add_block(block.at, starts, c.cuts & ~starts,
                       (m.nul & low_bits(block.size)) != 0);
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
            at += split::char_size(*at);
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
