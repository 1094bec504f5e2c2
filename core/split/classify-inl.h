// split/classify: 64 bytes -> a mask for each class of characters, and the cuts between wide ones.
// Text compiled once per target, inside its namespace, after simd's block vocabulary and
// chars3_<target>-inl.h. One bit a byte; the bits of a character are set on all of its bytes:
//   text            a E . _    E . are the two bytes of U+00E9
//   letter          1 1 1 0
//   continuation    0 0 1 0

// What a block needs of the block before it: the class of the last byte, in bit 0 of each mask.
struct Carry {
    std::uint64_t letter = 0;
    std::uint64_t number = 0;
    std::uint64_t other = 0;
    std::uint64_t white = 0;
    std::uint64_t newline = 0;
    std::uint64_t space = 0;
    std::uint64_t lower = 0;  // or caseless after it: a capital starts a word here
    std::uint64_t both = 0;
    std::uint64_t han = 0;
    std::uint64_t prefix = 0;     // the last character is punctuation that letters may follow
    std::uint64_t absorbed = 0;   // the last byte is a newline that belongs to punctuation
    std::uint64_t set = 0;        // starts that a contraction puts into the next block
    std::uint64_t clear = 0;      // and the starts it takes away there
    std::uint32_t phase = 0;      // digits since the last start, modulo the group
    std::uint32_t previous3 = 0;  // last character if it has three bytes
};

struct Block {
    const std::uint8_t* at;     // in the text
    const std::uint8_t* bytes;  // the same, kReadableBlock readable bytes
    unsigned size;              // at most 64, whole characters
    const std::uint8_t* end;    // of the text: how far one may look ahead
};

// The block at `at`; where less is readable, `copy` (kReadableBlock bytes) holds it.
TOKENMILL_INLINE Block block_at(const std::uint8_t* at, const std::uint8_t* stop,
                                const std::uint8_t* end, const std::uint8_t* readable,
                                std::uint8_t* copy) noexcept {
    Block block{at, at, static_cast<unsigned>(stop - at < 64 ? stop - at : 64), end};
    if (readable - at < kReadableBlock) {
        std::memset(copy, 0, kReadableBlock);
        std::memcpy(copy, at, block.size);
        block.bytes = copy;
    }
    return block;
}

// The classes of a block. letter, number, white, han and other share no bits; upper, lower and both
// (no case, or both) divide the letters, for the Cased family only. place_marks sorts marks into
// letters and others, and spread_lower adds caseless letters to lower.
struct Classes {
    std::uint64_t letter;
    std::uint64_t number;
    std::uint64_t white;
    std::uint64_t other;
    std::uint64_t upper;
    std::uint64_t lower;
    std::uint64_t both;
    std::uint64_t mark;
    std::uint64_t han;
    std::uint64_t newline;
    std::uint64_t space;
    std::uint64_t apostrophe;
    std::uint64_t continuation;
    std::uint64_t cuts;  // between three-byte characters that no token holds together
    bool complex;        // a character that the masks cannot handle
};

// `mask` if the lowest bit of `bit` is set, else 0: without a branch.
inline std::uint64_t mask_if(unsigned bit, std::uint64_t mask) noexcept {
    return mask & (std::uint64_t{0} - (bit & 1U));
}

// Adds one non-ASCII character to the masks by its class bits (ClassBit of facts.h).
template <split::Family F>
inline void add_char(unsigned bits, std::uint32_t code, std::uint64_t mask, Classes& c) noexcept {
    c.letter |= mask_if(bits, mask);
    c.number |= mask_if(bits >> 1, mask);
    c.white |= mask_if(bits >> 2, mask);
    if constexpr (F == split::Family::Cased) {
        c.mark |= mask_if(bits >> 3, mask);
        c.upper |= mask_if(bits >> 4, mask);
        c.lower |= mask_if(bits >> 5, mask);
        c.both |= mask_if(bits >> 6, mask);
        if ((bits & split::kHan) != 0) {
            c.han |= mask;
            c.complex |= split::is_odd_han(code);
        }
    }
}

// Adds the characters of `kSize` bytes at `leads` that differ in their last byte only, so that the
// classes of all 64 are neighbours in the table: `code` is the first of them.
template <split::Family F, unsigned kSize>
TOKENMILL_INLINE void add_chars(const split::SplitView& split, const Block& block,
                                std::uint64_t leads, std::uint32_t code, Classes& c) noexcept {
    const EntryMasks m =
        entry_masks(split.rule_classes.basic + code, block.bytes + kSize - 1, leads);
    const auto spread = [&](split::ClassBit bit) {
        const std::uint64_t first_bytes = m.of[zeros_below(bit)];
        return first_bytes | first_bytes << 1 | (kSize == 3 ? first_bytes << 2 : 0);
    };
    c.letter |= spread(split::kLetter);
    c.number |= spread(split::kNumber);
    c.white |= spread(split::kWhite);
    if constexpr (F == split::Family::Cased) {
        c.mark |= spread(split::kMark);
        c.upper |= spread(split::kUpper);
        c.lower |= spread(split::kLower);
        c.both |= spread(split::kBothCases);
        const std::uint64_t han = spread(split::kHan);
        c.han |= han;
        c.complex |= han != 0 && split::is_odd_han(code);
    }
}
// Characters of three bytes by all of their class bits. Scripts with marks or case have few first
// two bytes, so that many characters are done at once; the others are rare.
template <split::Family F>
inline void add_unusual(const split::SplitView& split, const Block& block, std::uint64_t leads,
                        Classes& c) noexcept {
    while (leads != 0) {
        const unsigned i = trailing_zeros(leads);
        const std::uint8_t* const at = block.bytes + i;
        const std::uint32_t code = decode3(at);
        if (code >= 0x3000) {
            add_char<F>(split.rule_classes.basic[code], code, std::uint64_t{7} << i, c);
            leads &= leads - 1;
            continue;
        }
        const std::uint64_t same =
            leads & equal_mask(block.bytes, at[0]) & equal_mask(block.bytes + 1, at[1]);
        add_chars<F, 3>(split, block, same, code & ~63U, c);
        leads &= ~same;
    }
}

// The junctions in doubt at which a word may be cut after all.
template <typename Junctions>
TOKENMILL_NOINLINE inline std::uint64_t cuts_among(std::uint64_t doubts, const Block& block,
                                                   std::uint32_t previous3,
                                                   const Junctions& junctions) noexcept {
    std::uint64_t cuts = 0;
    for (; doubts != 0; doubts &= doubts - 1) {
        const unsigned i = trailing_zeros(doubts);
        const std::uint32_t left = i < 3 ? previous3 : decode3(block.bytes + i - 3);
        cuts |= std::uint64_t{!junctions.joined(left, decode3(block.bytes + i))} << i;
    }
    return cuts;
}

// Characters of three bytes: their classes, and the cuts between them. Only rare characters cause a
// branch: most are letters, and whether two are joined is a coin toss.
//   text      a X . . Y . .     X and Y have three bytes, . continues them
//   leads     0 1 0 0 1 0 0
//   << 3      0 0 0 0 1 0 0     a three-byte character ends right before
//   cuts      0 0 0 0 1 0 0     unless the junction filter has the pair X Y
//
// A junction in doubt is not cut: to find out takes longer than the cut saves (Korean), except in
// long words that are hardly cut otherwise, which tables know badly (Thai).
constexpr unsigned kFewCuts = 3;
constexpr unsigned kLongRun = 18;
template <split::Family F, typename Sink>
inline void add_chars3(const split::SplitView& split, const Block& block, std::uint64_t leads,
                       Carry& carry, Classes& c, Sink& sink) noexcept {
    const Chars3 chars =
        look_up_chars3<false>(block.bytes, leads, carry.previous3, sink.facts(), sink.junctions());
    const auto spread = [](std::uint64_t first_bytes) {
        return first_bytes | first_bytes << 1 | first_bytes << 2;
    };
    c.letter |= spread(chars.letter);
    if constexpr (F == split::Family::Cased) {
        c.both |= spread(chars.letter & ~chars.unusual);
    }
    add_unusual<F>(split, block, chars.unusual, c);
    const std::uint64_t follows = leads & (leads << 3 | std::uint64_t{carry.previous3 != 0});
    c.cuts = follows & ~(chars.paired | chars.in_doubt);
    if (count_bits(c.cuts) < kFewCuts && count_bits(follows) >= kLongRun) {
        const std::uint64_t doubts = follows & ~chars.paired & chars.in_doubt;
        c.cuts |= cuts_among(doubts, block, carry.previous3, sink.junctions());
    }
    carry.previous3 = top_bit(leads) + 3 == block.size ? chars.last : 0;
}

// Characters of two bytes, all with the same lead byte at once. Most of Cyrillic and Greek are lead
// bytes that start letters only, and need no table where case does not matter.
template <split::Family F>
inline void add_chars2(const split::SplitView& split, const Block& block, std::uint64_t leads,
                       Classes& c) noexcept {
    while (leads != 0) {
        const std::uint8_t lead = block.bytes[trailing_zeros(leads)];
        const std::uint64_t same = leads & equal_mask(block.bytes, lead);
        leads &= ~same;
        if (F != split::Family::Cased && (split.letter_leads >> (lead & 31U) & 1U) != 0) {
            c.letter |= same | same << 1;
        } else {
            add_chars<F, 2>(split, block, same, (lead & 31U) << 6, c);
        }
    }
}

// First bytes of the characters that the block holds whole. If the last one continues in the next
// block, this block ends before it.
inline std::uint64_t whole_leads(Block& block, std::uint64_t leads) noexcept {
    leads &= low_bits(block.size);
    const unsigned last = top_bit(leads);
    if (last + char_size(block.bytes[last]) > block.size) {
        block.size = last;
        leads &= low_bits(last);
    }
    return leads;
}

// Adds the characters that are not ASCII, by their sizes.
template <split::Family F, typename Sink>
inline void add_wide_chars(const split::SplitView& split, Block& block, std::uint64_t non_ascii,
                           Carry& carry, Classes& c, Sink& sink) noexcept {
    const WideMasks m = wide_masks(block.bytes);
    const std::uint64_t leads = whole_leads(block, non_ascii & ~m.continuation);
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
        const std::uint32_t code = decode4(block.bytes + i);
        add_char<F>(split.rule_classes.of(code), code, std::uint64_t{15} << i, c);
    }
}

// Does the character that ends before byte `i` start the punctuation of a word, without a blank
// before it? Letters and marks may follow it.
inline bool is_prefix_before(const Classes& c, const Carry& carry, unsigned i) noexcept {
    if (i == 0) {
        return carry.prefix != 0;
    }
    const unsigned first = top_bit(~c.continuation & low_bits(i));
    const std::uint64_t before = c.other << 1 | c.space << 1 | carry.other | carry.space;
    return (before >> first & 1) == 0;
}

// Marks are letters of both cases, unless the punctuation before them takes them along:
//   text     a M M ( M ! ! M    M is a mark
//   other    0 0 0 1 0 1 1 0    without marks
//   first    0 1 0 0 1 0 0 1    of a run of marks
//   result   a M M, (M and !!M: the last mark is punctuation
inline void place_marks(Classes& c, const Carry& carry) noexcept {
    if (c.mark == 0) {
        return;
    }
    c.other &= ~c.mark;
    std::uint64_t letters = c.mark;
    const std::uint64_t first = c.mark & ~(c.mark << 1);
    for (std::uint64_t rest = first & (c.other << 1 | carry.other); rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        if (!is_prefix_before(c, carry, i)) {
            const std::uint64_t from = c.mark >> i;
            const std::uint64_t run = (from & ~(from + 1)) << i;
            c.other |= run;
            letters &= ~run;
        }
    }
    c.letter |= letters;
    c.both |= letters;
}

// Caseless letters after lower case are lower case too: capitals start a word after both. The sum
// carries through a run, and so clears it.
//   text           a X X B X b    X has no case
//   both           0 1 1 0 1 0
//   first          0 1 0 0 0 0
//   both + first   0 0 0 1 1 0
//   added          0 1 1 0 0 0
TOKENMILL_INLINE void spread_lower(Classes& c, const Carry& carry) noexcept {
    const std::uint64_t first = c.both & (c.lower << 1 | carry.lower);
    c.lower |= c.both & ~(c.both + first);
}

// All classes of a block. ASCII comes from the byte masks; the block may get shorter if it ends in
// the middle of a character.
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
    c.mark = 0;
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
    if constexpr (kCased) {
        place_marks(c, carry);
        spread_lower(c, carry);
    }
    return c;
}
