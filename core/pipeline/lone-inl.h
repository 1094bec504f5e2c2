// pipeline: characters that are units by themselves -> known ids of the batch. A vocabulary over
// characters has a table with their ids, so they need no look-up and no merging, and a run of them
// is one unit. In a script that the vocabulary hardly knows, most characters are like this. Text
// compiled once per target, inside its namespace, after units-inl.h.

// Bits of a block: where units end, which of these ends are cuts, and first bytes of characters of
// three bytes with an end on both sides.
struct LoneBlock {
    std::uint64_t ends;
    std::uint64_t cuts;
    std::uint64_t lone;
};

// The ids of lone characters on their way into the batch.
struct LoneWriter {
    static constexpr std::size_t kMostIds = std::size_t{vocab::kInlineIds} * 23;  // of a block

    LoneWriter(pipeline::Worker& worker, std::uint32_t* room) noexcept
        : fixed(worker.fixed),
          char_values(worker.encoder.vocab.char_values.data()),
          stored(worker.encoder.side.count()),
          out(room) {}

    void write(const std::uint8_t* character) noexcept { write(decode3(character)); }
    void write(std::uint32_t code) noexcept {
        const std::uint64_t value = char_values[code];
        store_inline_ids(out, value);
        out += vocab::value_tag(value);
    }
    // What was written since `run` is unit `index`.
    void end_run(const std::uint32_t* run, std::uint32_t index) {
        const auto count = static_cast<std::uint32_t>(out - run);
        fixed.push_back({index, vocab::pack_reference(vocab::kTagSide, stored, count)});
        stored += count;
    }

    std::vector<pipeline::Worker::Fixed>& fixed;
    const std::uint64_t* const char_values;
    std::size_t stored;
    std::uint32_t* out;
};

// As append_block, for a block with lone characters. Runs of them become one known unit each:
//
//   text   a b | X Y Z | c d      X, Y, Z: three bytes each
//   ends   . . 1 1 1 1 . .        a unit ends before X, Y, Z and c
//   lone       1 1 1              an end on both sides
//   units  ab, XYZ (known)        "cd" stays open
//
// The open unit may be a lone character, too: then it is the one in front of the block.
TOKENMILL_NOINLINE inline void append_lone(pipeline::Worker& worker, const std::uint8_t* at,
                                           LoneBlock block, const std::uint8_t*& unit,
                                           std::uint64_t& cut_start) {
    encode::WordEncoder& e = worker.encoder;
    const std::size_t before = e.side.count();
    LoneWriter ids(worker, e.side.room(LoneWriter::kMostIds));
    UnitWriter to(e);
    const std::uint8_t* begin = unit;
    std::uint64_t started = cut_start;
    for (; block.ends != 0; block.ends &= block.ends - 1) {
        unsigned i = trailing_zeros(block.ends);
        const std::uint64_t ended = (block.cuts >> i & 1) * encode::kCutEnd;
        const bool is_lone = (block.lone >> i & 1) != 0;
        const bool is_carried = i == 0 && begin == at - 3 && is_lead3(*begin);
        std::uint32_t* const run = ids.out;
        if (is_carried) {
            ids.write(begin);
        } else if (begin != at + i) {
            to.append(begin, static_cast<std::uint64_t>(at + i - begin), started | ended,
                      load<std::uint64_t>(begin));
        }
        for (; (block.lone >> i & 1) != 0; i += 3) {
            ids.write(at + i);
        }
        if (is_lone || is_carried) {
            ids.end_run(run, to.n);
            to.append_known();
            block.ends &= ~low_bits(i);
        }
        started = (block.cuts >> i & 1) * encode::kCutStart;
        begin = at + i;
    }
    e.side.take(ids.stored - before);
    unit = begin;
    cut_start = started;
}

// Appends the open unit up to `at`, with these cuts, and all characters of the run but the last.
// The last one becomes the open unit: the text after it decides whether it ends in a cut.
TOKENMILL_NOINLINE inline void append_lone_run(pipeline::Worker& worker, const std::uint8_t* at,
                                               const LoneRun& run, const std::uint8_t* unit,
                                               std::uint64_t cuts) {
    encode::WordEncoder& e = worker.encoder;
    const std::size_t before = e.side.count();
    LoneWriter ids(worker, e.side.room(LoneWriter::kMostIds));
    UnitWriter to(e);
    std::uint32_t* const first = ids.out;
    if (unit == at - 3 && is_lead3(*unit)) {
        ids.write(unit);
    } else if (unit != at) {
        to.append(unit, static_cast<std::uint64_t>(at - unit), cuts, load<std::uint64_t>(unit));
    }
    for (unsigned k = 0; k + 1 < run.count; ++k) {
        ids.write(run.codes[k]);
    }
    ids.end_run(first, to.n);
    to.append_known();
    e.side.take(ids.stored - before);
}
