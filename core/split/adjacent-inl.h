// split/adjacent: 64 bytes -> word starts and cuts, by neighbours alone: a word starts wherever two
// characters are not joined. Text compiled once per target, inside its namespace, after simd's
// block vocabulary and classify-inl.h. In the pictures bit 0 is on the left and _ is a blank.

// One mask for each ByteClass; every byte is in exactly one of them.
struct NeighbourMasks {
    std::uint64_t of[kByteClasses];
};

inline std::uint64_t& mask_of(NeighbourMasks& masks, ByteClass wanted) noexcept {
    return masks.of[static_cast<std::size_t>(wanted)];
}

// The classes of single bytes. Bytes of wide characters are Wide until classify_wide moves them.
TOKENMILL_INLINE NeighbourMasks neighbour_masks(const Block& block, const ByteMasks& m) noexcept {
    NeighbourMasks masks;
    const std::uint64_t newline = equal_mask(block.bytes, '\n');
    mask_of(masks, ByteClass::Letter) = m.letter;
    mask_of(masks, ByteClass::Digit) = m.digit;
    mask_of(masks, ByteClass::Blank) = m.space;
    mask_of(masks, ByteClass::Newline) = newline;
    mask_of(masks, ByteClass::Control) = m.white & ~m.space & ~newline;
    mask_of(masks, ByteClass::Other) = ~(m.letter | m.digit | m.white | m.non_ascii);
    mask_of(masks, ByteClass::Wide) = m.non_ascii;
    return masks;
}

// Moves a wide character to its own class: white space, punctuation, or an ideograph.
inline void reclassify_char(const split::SplitView& split, const Block& block, unsigned i,
                            unsigned size, NeighbourMasks& masks) noexcept {
    const std::uint32_t found = split.rule_classes.of(decode_char(block.bytes + i, size));
    const std::uint64_t mask = low_bits(size) << i;
    mask_of(masks, ByteClass::Wide) &= ~mask;
    masks.of[found] |= mask;
}

// Moves wide characters to their classes. One byte of facts is enough to know the three-byte ones
// that are Other, which is most of them; the rest are looked up one by one.
template <typename Sink>
inline void classify_wide(const split::SplitView& split, const Block& block, std::uint64_t leads,
                          std::uint64_t leads3, NeighbourMasks& masks, Sink& sink) noexcept {
    std::uint64_t rest = leads;
    if (leads3 != 0 && !sink.has_sides()) {
        const Chars3 chars =
            look_up_chars3<true>(block.bytes, leads3, 0, sink.facts(), sink.junctions());
        const std::uint64_t other = chars.letter | chars.letter << 1 | chars.letter << 2;
        mask_of(masks, ByteClass::Wide) &= ~other;
        mask_of(masks, ByteClass::Other) |= other;
        rest = (leads & ~leads3) | chars.unusual;
    }
    for (; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        reclassify_char(split, block, i, char_size(block.bytes[i]), masks);
    }
}

// Bytes whose class is joined to the class of the byte before. joins.of[right][left] is all ones
// or zero, so that 49 pairs of classes need no branch.
//   text             a b _ 1
//   letter           1 1 0 0    before: 0 1 1 0
//   blank            0 0 1 0    before: 0 0 0 1
//   digit            0 0 0 1
//   letter + letter and blank + digit joined
//   result           0 1 0 1
TOKENMILL_INLINE std::uint64_t joined_mask(const split::Joins& joins, const NeighbourMasks& masks,
                                           const NeighbourMasks& carry) noexcept {
    NeighbourMasks before;
    for (std::size_t k = 0; k < kByteClasses; ++k) {
        before.of[k] = masks.of[k] << 1 | carry.of[k];
    }
    std::uint64_t joined = 0;
    for (std::size_t right = 0; right < kByteClasses; ++right) {
        std::uint64_t lefts = 0;
        for (std::size_t left = 0; left < kByteClasses; ++left) {
            lefts |= before.of[left] & joins.of[right][left];
        }
        joined |= lefts & masks.of[right];
    }
    return joined;
}

// The few pairs of bytes that are joined though their classes are not.
//   pair             : /
//   text             s : / /
//   ':' << 1         0 0 1 0
//   '/'              0 0 1 1
//   result           0 0 1 0
inline std::uint64_t exceptions_mask(const Adjacency& adjacency, const Block& block,
                                     bool has_before) noexcept {
    std::uint64_t joined = 0;
    for (std::uint32_t i = 0; i < adjacency.exception_count; ++i) {
        const std::uint8_t* pair = adjacency.exceptions[i];
        const std::uint64_t carry = has_before && block.at[-1] == pair[0] ? 1U : 0U;
        joined |=
            (equal_mask(block.bytes, pair[0]) << 1 | carry) & equal_mask(block.bytes, pair[1]);
    }
    return joined;
}

// The last character of a block if it has three bytes, or 0.
inline std::uint32_t ends_in_char3(const Block& block, std::uint64_t leads) noexcept {
    const bool is_last = leads != 0 && top_bit(leads) + 3 == block.size;
    return is_last ? decode3(block.bytes + block.size - 3) : 0;
}

// Cuts on both sides of three-byte characters, for a vocabulary over characters: a cut is possible
// where no token holds the two neighbours together. `previous3` is the last character before the
// block if it has three bytes. Three cases, for characters X Y of three bytes and a letter:
//   text      X . . Y . . a     . is a continuation byte
//   leads     1 0 0 1 0 0 0
//   follows   0 0 0 1 0 0 0     a three-byte character before: cut unless the pair is in a token
//   ~follows  1 0 0 0 0 0 0     something else before: cut unless a token holds X after it
//   << 3      0 0 0 0 0 0 1     something else after: cut unless a token holds Y before it
template <typename Sink>
inline std::uint64_t cuts_at_chars3(const Block& block, std::uint64_t leads,
                                    std::uint32_t previous3, Sink& sink) noexcept {
    const std::uint8_t* const facts = sink.facts();
    std::uint64_t cuts = 0;
    std::uint64_t follows = 0;
    if (leads != 0) {
        const Chars3 chars =
            look_up_chars3<true>(block.bytes, leads, previous3, facts, sink.junctions());
        const std::uint64_t before_other = chars.unusual;
        const std::uint64_t after_other = chars.letter;
        follows = leads & (leads << 3 | std::uint64_t{previous3 != 0});
        cuts = (follows & ~(chars.paired & chars.in_doubt)) | (leads & ~follows & ~after_other) |
               ((leads & ~before_other) << 3 & ~leads & low_bits(block.size));
    }
    const bool was_free = previous3 != 0 && (facts[previous3] & split::kFactBeforeOther) == 0;
    return cuts | (std::uint64_t{was_free} & ~leads);
}

// The possible cuts that are real ones: the table of byte pairs knows those that some token spans.
inline std::uint64_t cuts_that_hold(const InsideCuts& inside, const std::uint8_t* at,
                                    std::uint64_t cuts) noexcept {
    std::uint64_t held = 0;
    for (; cuts != 0; cuts &= cuts - 1) {
        const unsigned i = trailing_zeros(cuts);
        held |= (inside.joined(at + i) ^ 1) << i;
    }
    return held;
}

// What a block tells the next one about its last byte: bits of pairs.left where there are pair
// tables, else of its ByteClass. Both mean the same unless there are exceptions.
struct LeftBits {
    std::uint8_t bits = 0;

    static LeftBits of(const split::SplitView& split, ByteClass own) noexcept {
        const bool by_pairs = split.has_pairs && own == ByteClass::Wide;
        return {static_cast<std::uint8_t>(by_pairs ? split.pairs.left[split.pairs.wide_kind]
                                                   : 1U << static_cast<unsigned>(own))};
    }
    [[nodiscard]] bool joined_to(const split::SplitView& split, ByteClass own) const noexcept {
        const bool by_pairs = split.has_pairs && own == ByteClass::Wide;
        return ((by_pairs ? split.pairs.first[split.pairs.wide_kind]
                          : split.adjacency.joins[static_cast<std::size_t>(own)]) &
                bits) != 0;
    }
};

// Takes the run of lone three-byte characters at `at`, if there is one, without any masks. Returns
// its bytes, or 0.
template <typename Sink>
inline unsigned scan_lone_run(const split::SplitView& split, Sink& sink, const std::uint8_t* at,
                              LeftBits& before, Carry& wide_carry) {
    const auto own = sink.has_sides() ? ByteClass::Wide : ByteClass::Other;
    const auto number = static_cast<std::size_t>(own);
    const bool joined_inside = (split.adjacency.joins[number] >> number & 1) != 0;
    const unsigned count =
        sink.add_lone_run(at, wide_masks(at).lead3, before.joined_to(split, own), joined_inside);
    if (count != 0) {
        before = LeftBits::of(split, own);
        wide_carry.previous3 = sink.has_sides() ? decode3(at + std::size_t{3} * (count - 1)) : 0;
    }
    return 3 * count;
}

// What the wide characters of a block add to its masks.
struct WidePart {
    std::uint64_t cuts = 0;    // inside words, next to three-byte characters
    std::uint64_t inside = 0;  // continuation bytes
    std::uint64_t leads = 0;   // first bytes of characters
    std::uint64_t leads3 = 0;  // first bytes of characters of three bytes
};

// Finds the wide characters of a block and the cuts between them. A character that reaches into the
// next block is left to that block.
template <typename Sink>
TOKENMILL_INLINE WidePart add_wide(const split::SplitView& split, Block& block,
                                   std::uint64_t non_ascii, Carry& carry, Sink& sink) noexcept {
    WidePart part;
    if ((non_ascii & low_bits(block.size)) != 0) {
        const WideMasks wide = wide_masks(block.bytes);
        part.inside = wide.continuation;
        part.leads = whole_leads(block, non_ascii & ~wide.continuation);
        part.leads3 = part.leads & wide.lead3;
        if (sink.has_sides()) {
            part.cuts = cuts_at_chars3(block, part.leads3, carry.previous3, sink);
            carry.previous3 = ends_in_char3(block, part.leads3);
        } else if (part.leads3 != 0 && sink.may_cut()) {
            Classes c{};
            add_chars3<split::Family::Adjacent>(split, block, part.leads3, carry, c, sink);
            part.cuts = c.cuts;
        } else {
            carry.previous3 = 0;
        }
    } else if (carry.previous3 != 0) {
        part.cuts = sink.has_sides() ? cuts_at_chars3(block, 0, carry.previous3, sink) : 0;
        carry.previous3 = 0;
    }
    return part;
}

// Bytes that belong to the one before, in a word (first) and inside of it without a look-up
// (second), where the bytes alone do not tell: wide characters have classes, or there are many
// exceptions.
template <typename Sink>
TOKENMILL_NOINLINE inline PairMasks pairs_by_class(const split::SplitView& split,
                                                   const Block& block, const WidePart& wide,
                                                   bool has_before, LeftBits& before,
                                                   Sink& sink) noexcept {
    NeighbourMasks masks = neighbour_masks(block, byte_masks(block.bytes));
    if (split.rule.wide_classes != 0 && wide.leads != 0) {
        classify_wide(split, block, wide.leads, wide.leads3, masks, sink);
    }
    NeighbourMasks carry{};
    unsigned last = 0;
    for (unsigned k = 0; k < kByteClasses; ++k) {
        carry.of[k] = before.bits >> k & 1U;
        last |= static_cast<unsigned>(masks.of[k] >> (block.size - 1) & 1) << k;
    }
    before.bits = static_cast<std::uint8_t>(last);
    std::uint64_t joined = joined_mask(split.joins, masks, carry);
    if (split.adjacency.exception_count != 0) {
        joined |= exceptions_mask(split.adjacency, block, has_before);
    }
    return {joined, split.cuts_inside ? joined_mask(split.joins_inside, masks, carry) : 0};
}

// Words of [begin, stop); a word starts at `begin` and ends at `stop`. A start is a first byte that
// is not joined to the byte before; a cut is a joined one that no token spans.
//   text      a b _ _ c
//   joined    0 1 0 1 0
//   starts    1 0 1 0 1
template <typename Sink>
inline void scan_adjacent(const split::SplitView& split, Sink& sink, const std::uint8_t* begin,
                          const std::uint8_t* stop, const std::uint8_t* end,
                          const std::uint8_t* readable) {
    LeftBits before;
    Carry wide_carry;
    const bool knows_lone_runs = sink.knows_lone_runs(split);
    sink.open(begin);
    for (const std::uint8_t* at = begin; at < stop;) {
        if (knows_lone_runs && stop - at >= 64 && readable - at >= kReadableBlock &&
            sink.may_begin_lone_run(at)) {
            if (const unsigned size = scan_lone_run(split, sink, at, before, wide_carry)) {
                at += size;
                continue;
            }
        }
        std::uint8_t copy[kReadableBlock];
        Block block = block_at(at, stop, end, readable, copy);
        const ByteMasks m = byte_masks(block.bytes);
        const WidePart wide = add_wide(split, block, m.non_ascii, wide_carry, sink);
        const std::uint64_t valid = low_bits(block.size);
        PairMasks pairs;
        if (split.has_pairs && (split.rule.wide_classes == 0 || (m.non_ascii & valid) == 0)) {
            pairs = pair_masks(split.pairs, block.bytes, before.bits);
            before.bits = split.pairs.left_of(block.bytes[block.size - 1]);
        } else {
            pairs = pairs_by_class(split, block, wide, at != begin, before, sink);
        }
        std::uint64_t cuts = wide.cuts;
        if (split.cuts_inside) {
            cuts |= cuts_that_hold(split.inside, block.at,
                                   ~(pairs.second | wide.inside) & pairs.first & valid);
        }
        const std::uint64_t starts = ~(pairs.first | wide.inside) & valid;
        const bool has_nul = (m.nul & valid) != 0;
        if (wide.leads3 != 0) {
            sink.add_wide_block(block.at, starts, cuts & ~starts, wide.leads3, has_nul);
        } else {
            sink.add_block(block.at, starts, cuts & ~starts, has_nul);
        }
        at += block.size;
    }
    sink.close_word(stop);
}
