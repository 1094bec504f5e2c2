// Characters that are units by themselves, of a vocabulary over characters: a table says what they
// become, so they need no look-up and no merging, and a run of them is one unit. Most characters of
// a script that the vocabulary hardly knows are such. Text compiled once per target, inside its
// namespace, behind units-inl.h.

// Bits of a block: where units end, which of these ends are cuts, and first bytes of characters of
// three bytes with an end on both sides.
struct LoneBlock {
    std::uint64_t ends;
    std::uint64_t cuts;
    std::uint64_t lone;
};

// Writes the ids of the run of lone characters at bit `i`, which goes to its end; returns their
// count.
inline std::uint32_t write_run(const std::uint64_t* char_values, const std::uint8_t* at,
                               std::uint64_t lone, unsigned& i, std::uint32_t* out) noexcept {
    std::uint32_t* const first = out;
    do {
        const std::uint64_t value = char_values[decode3(at + i)];
        store_inline_ids(out, value);
        out += vocab::value_tag(value);
        i += 3;
    } while ((lone >> i & 1) != 0);
    return static_cast<std::uint32_t>(out - first);
}

// As append_block, for a block with lone characters.
[[gnu::noinline]] inline void append_lone(pipeline::Worker& worker, const std::uint8_t* at,
                                          LoneBlock block, const std::uint8_t*& unit,
                                          std::uint64_t& piece) {
    constexpr std::size_t kMostIds = vocab::kInlineIds * 22;
    encode::WordEncoder& e = worker.encoder;
    const std::uint64_t* const char_values = e.vocab.char_values.data();
    std::size_t stored = e.side.size();
    e.side.resize(stored + kMostIds);
    UnitWriter to(e);
    const std::uint8_t* begin = unit;
    std::uint64_t flag = piece;
    for (; block.ends != 0; block.ends &= block.ends - 1) {
        unsigned i = trailing_zeros(block.ends);
        const std::uint64_t is_cut = (block.cuts >> i & 1) * encode::kUnitPiece;
        if (begin != at + i) {
            to.append(begin, static_cast<std::uint64_t>(at + i - begin), flag | is_cut,
                      load<std::uint64_t>(begin));
        }
        flag = is_cut;
        if ((block.lone >> i & 1) != 0) {
            const std::uint32_t count =
                write_run(char_values, at, block.lone, i, e.side.data() + stored);
            worker.fixed.push_back(
                {to.n, vocab::pack_reference(vocab::kTagSide, stored, count)});
            to.append_known();
            stored += count;
            flag = (block.cuts >> i & 1) * encode::kUnitPiece;
            block.ends &= ~low_bits(i);
        }
        begin = at + i;
    }
    e.side.resize(stored);
    unit = begin;
    piece = flag;
}
