// pipeline: words of the scanner -> units of the batch -> ids. Split and encode meet here. Text
// compiled once per target, inside its namespace, after that of simd, split and encode.

// Answers all units, puts the known ones in place, and writes the ids document by document.
inline void flush_batch(pipeline::Worker& worker) {
    encode::WordEncoder& e = worker.encoder;
    check_stop(e.stop());
    e.clock.lap(WorkStage::Split);
    answer_batch(e);
    if (!worker.fixed.empty()) {
        for (const auto& fixed : worker.fixed) {
            e.value[fixed.index] = fixed.value;
        }
        e.counters.take_back(Tally::Hit8, worker.fixed.size());
    }
    std::uint32_t done = 0;
    std::uint32_t* const begin = worker.cursor;
    std::uint32_t* out = begin;
    const bool has_spans = worker.has_spans();
    for (const std::uint32_t mark : worker.marks) {
        std::uint32_t* const from = out;
        out = write_ids(e, done, mark, out);
        if (has_spans) {
            write_words(worker, done, mark, from);
            write_spans(worker, done, mark, from);
            worker.spans.text_ids = 0;
            worker.spans.words.count = 0;
        }
        done = mark;
        worker.doc_ends.push_back(static_cast<std::size_t>(out - worker.first()));
    }
    worker.cursor = write_ids(e, done, e.count, out);
    if (has_spans) {
        write_words(worker, done, e.count, out);
        write_spans(worker, done, e.count, out);
    }
    const auto written = static_cast<std::size_t>(worker.cursor - begin);
    e.counters.add_bytes(WorkStage::Emit, written * sizeof(TokenId));
    e.clock.lap(WorkStage::Emit);
    worker.end_batch();
}

// Takes words from a scanner, cuts them where no token reaches over, and gathers the units. A scan
// reports a block of 64 bytes at a time, so a word may be open across blocks:
//
//   block         |                     |                     |
//   text          the quick  brownfoxjum ps over
//                            ^ word_    ^ at
//                            ^ unit_       from here on nothing is gathered yet
//
// A unit ends at each word start and at each cut inside a word. The two flags of a unit (kCutStart,
// kCutEnd) mark pieces: the same bytes may have other ids as a whole word.
class WordSink {
public:
    WordSink(pipeline::Worker& worker, const std::uint8_t* readable) noexcept
        : worker_(worker),
          e_(worker.encoder),
          junctions_(worker.encoder.vocab.junctions),
          readable_(readable),
          cuts_(may_cut(worker) ? ~std::uint64_t{0} : 0),
          longest_cut_(e_.vocab.is_merged() ? ~std::size_t{0} : vocab::kLongestCutWord),
          knows_lone_(!worker.encoder.vocab.char_values.empty() &&
                      !worker.encoder.vocab.has_ends() && !worker.has_spans()),
          has_sides_(!worker.encoder.vocab.char_sides.empty()) {}

    // For the scanner, which cuts words: see vocab/junction.h.
    [[nodiscard]] const vocab::JunctionFilter& junctions() const noexcept { return junctions_; }
    // Words that are looked up as a whole are never cut.
    [[nodiscard]] bool may_cut() const noexcept { return e_.vocab.can_cut(); }
    // Do the facts tell which neighbours a token holds a character with?
    [[nodiscard]] bool has_sides() const noexcept { return has_sides_; }
    [[nodiscard]] const std::uint8_t* facts() const noexcept { return worker_.facts; }
    void open(const std::uint8_t* at) noexcept {
        word_ = at;
        unit_ = at;
        cut_start_ = 0;
    }
    [[nodiscard]] const std::uint8_t* open_word() const noexcept { return word_; }
    // The scanner has read text that may have no word.
    void pause() const { check_stop(e_.stop()); }

    // The open word ends here: cuts and gathers the rest of it.
    void close_word(const std::uint8_t* end) {
        if (static_cast<std::size_t>(end - word_) > longest_cut_) {
            add_unit(unit_, end, cut_start_);
        } else if (unit_ < end) {
            add_pieces(unit_, end, cut_start_);
        }
        open(end);
    }

    void add_word(const std::uint8_t* begin, const std::uint8_t* end) {
        if (begin < end) {
            add_pieces(begin, end, 0);
        }
    }

    // A block's word starts and, separately, cuts inside words.
    //
    //   text     h e l l o _ w o r l d
    //   starts   1 0 0 0 0 1 0 0 0 0 0
    //   cuts     0 0 0 0 0 0 0 0 1 0 0
    //   ends     starts | cuts, without a start that is the open unit's own
    //
    // The quick way loads whole words of memory and pads keys with zeros; the careful way is for
    // the end of the text, for NUL bytes, and for units that get too long.
    void add_block(const std::uint8_t* at, std::uint64_t starts, std::uint64_t cuts, bool has_nul) {
        cuts &= cuts_;
        if (unlikely(static_cast<std::size_t>(at - word_) > longest_cut_ - 64)) {
            cuts = 0;
        }
        std::uint64_t ends = starts | cuts;
        if (unit_ == at) {
            ends &= ~std::uint64_t{1};
        }
        const bool careful = is_careful(at, has_nul);
        had_nul_ = has_nul;
        if (unlikely(careful)) {
            gather_carefully(at, ends, cuts);
        } else {
            append_block(e_, at, ends, cuts, unit_, cut_start_);
        }
        end_block(at, starts);
    }

    // The same where characters of three bytes start at `leads3`: characters that are units by
    // themselves have known ids, and runs of them are one unit.
    void add_wide_block(const std::uint8_t* at, std::uint64_t starts, std::uint64_t cuts,
                        std::uint64_t leads3, bool has_nul) {
        constexpr unsigned kFew = 12;  // of 21: short runs do not pay (log 2026-11-15)
        const std::uint64_t ends = starts | cuts;
        const std::uint64_t lone = leads3 & ends & ends >> 3;
        if (!knows_lone_ || count_bits(lone) < kFew || is_careful(at, has_nul)) {
            add_block(at, starts, cuts, has_nul);
            return;
        }
        append_lone(worker_, at, {ends, cuts, lone}, unit_, cut_start_);
        end_block(at, starts);
    }

    // Does add_lone_run know which characters are units by themselves under this split, in which a
    // word starts wherever two classes are not joined?
    [[nodiscard]] bool knows_lone_runs(const split::SplitView& split) const noexcept {
        if (!knows_lone_) {
            return false;
        }
        bool is_known = has_sides() || split.rule.wide_classes != 0;
        constexpr auto kOther = static_cast<std::size_t>(ByteClass::Other);
        for (std::size_t k = 0; !has_sides() && k < kByteClasses; ++k) {
            is_known &= (split.joins.of[kOther][k] | split.joins.of[k][kOther]) == 0;
        }
        for (std::uint32_t i = 0; i < split.adjacency.exception_count; ++i) {
            const std::uint8_t* const pair = split.adjacency.exceptions[i];
            is_known &= pair[0] < 0x80 && pair[1] < 0x80;
        }
        return is_known;
    }

    // A cheap first test: the next two characters must be lone ones of three bytes.
    [[nodiscard]] bool may_begin_lone_run(const std::uint8_t* at) const noexcept {
        return is_lead3(at[0]) && is_lead3(at[3]) && stands_alone(decode3(at)) &&
               stands_alone(decode3(at + 3));
    }

    // Appends the lone characters at the start of a block, where `leads` marks the first bytes of
    // characters of three bytes; returns how many, or 0 if they are too few to be worth it.
    // `joined`: the first one's class is joined to the character before it; `joined_inside`: each
    // is to the next.
    [[nodiscard]] unsigned add_lone_run(const std::uint8_t* at, std::uint64_t leads, bool joined,
                                        bool joined_inside) {
        if (is_careful(at, false)) {
            return 0;
        }
        LoneRun run;
        run.read(at, leads, [&](std::uint32_t code) { return stands_alone(code); });
        if (run.count < LoneRun::kFew) {
            return 0;
        }
        append_lone_run(worker_, at, run, unit_,
                        cut_start_ | std::uint64_t{joined} * encode::kCutEnd);
        unit_ = at + std::size_t{3} * (run.count - 1);
        cut_start_ = std::uint64_t{joined_inside} * encode::kCutStart;
        end_block(at, std::uint64_t{!joined_inside} << 3 * (run.count - 1));
        return run.count;
    }

private:
    // Whatever its neighbours are: no token holds it together with another character, or its class
    // is joined to none.
    [[nodiscard]] bool stands_alone(std::uint32_t code) const noexcept {
        constexpr unsigned kClass = split::kFactLetter | split::kFactUnusual;
        const unsigned fact = worker_.facts[code];
        return has_sides_ ? fact == 0 : (fact & kClass) == split::kFactLetter;
    }

    [[nodiscard]] bool is_careful(const std::uint8_t* at, bool has_nul) const noexcept {
        return has_nul || had_nul_ || readable_ - at < 64 + 8 ||
               at - unit_ > std::ptrdiff_t{encode::kLongestUnit} - 64;
    }

    void end_block(const std::uint8_t* at, std::uint64_t starts) {
        worker_.ahead.ask();
        ask_early(e_);
        if (starts != 0) {
            word_ = at + top_bit(starts);
        }
        if (e_.is_batch_full()) {
            flush_batch(worker_);
        }
    }

    // Not if spans need to find the parts of whole words again.
    static bool may_cut(const pipeline::Worker& worker) noexcept {
        const bool has_spans = worker.has_spans();
        return !worker.spans.keeps_whole() && (worker.encoder.vocab.is_merged() || !has_spans);
    }

    // One unit at a time, with checked loads. Every block of a very long word comes here.
    void gather_carefully(const std::uint8_t* at, std::uint64_t ends, std::uint64_t cuts) {
        check_stop(e_.stop());
        for (; ends != 0; ends &= ends - 1) {
            const unsigned i = trailing_zeros(ends);
            const std::uint64_t is_cut = cuts >> i & 1;
            add_unit(unit_, at + i, cut_start_ | is_cut * encode::kCutEnd);
            unit_ = at + i;
            cut_start_ = is_cut * encode::kCutStart;
        }
    }

    // Cuts a word between characters of three bytes that no token holds next to each other, as the
    // scanner does for blocks.
    void add_pieces(const std::uint8_t* begin, const std::uint8_t* end, std::uint64_t cut_start) {
        if (end - begin <= 8 || worker_.split.splits_chars || cuts_ == 0 ||
            static_cast<std::size_t>(end - begin) > longest_cut_) {
            add_unit(begin, end, cut_start);
            return;
        }
        const std::uint8_t* from = begin;
        std::uint32_t previous = 0;
        for (const std::uint8_t* at = begin; at < end;) {
            const unsigned size = char_size(*at);
            const std::uint32_t code = size == 3 ? decode_char(at, 3) : 0;
            if (code != 0 && previous != 0 && !junctions_.joined(previous, code)) {
                add_unit(from, at, cut_start | encode::kCutEnd);
                from = at;
                cut_start = encode::kCutStart;
            }
            previous = code;
            at += size;
        }
        add_unit(from, end, cut_start);
    }

    // A unit of any length. Very long ones skip the batch: they are encoded at once, after what was
    // gathered before them.
    void add_unit(const std::uint8_t* begin, const std::uint8_t* end, std::uint64_t cuts) {
        const auto size = static_cast<std::size_t>(end - begin);
        if (size > encode::kLongestUnit || e_.is_whole_text()) {
            flush_batch(worker_);
            e_.encode_giant({begin, size}, cuts);
            e_.clock.lap(WorkStage::Merge);
            std::memcpy(worker_.cursor, e_.long_ids.data(), e_.long_ids.size() * sizeof(TokenId));
            const std::size_t count = e_.long_ids.size();
            if (worker_.has_spans()) {
                write_giant_spans(worker_, {begin, size}, count);
            }
            worker_.cursor += count;
            e_.counters.add_bytes(WorkStage::Emit, count * sizeof(TokenId));
            e_.clock.lap(WorkStage::Emit);
            return;
        }
        const std::uint64_t first8 = load_short(begin, size < 8 ? size : 8);
        if (size <= 8 && begin[size - 1] == 0) {
            append_unkeyed(e_, begin, size, cuts);
        } else {
            UnitWriter(e_).append(begin, size, cuts, first8);
        }
        if (e_.count >= e_.batch + 64) {
            flush_batch(worker_);
        }
    }

    pipeline::Worker& worker_;
    encode::WordEncoder& e_;
    const vocab::JunctionFilter junctions_;
    const std::uint8_t* readable_;
    const std::uint64_t cuts_;       // which cuts inside words count: all, or none
    const std::size_t longest_cut_;  // words are not cut after this many bytes
    const bool knows_lone_;          // lone characters need no look-up
    const bool has_sides_;
    const std::uint8_t* word_ = nullptr;  // start of the open word
    const std::uint8_t* unit_ = nullptr;  // start of its unit that is not gathered yet
    std::uint64_t cut_start_ = 0;         // kCutStart when that start is a cut
    bool had_nul_ = false;
};

// The entry of the kernel: one scanner for each family of splits.
inline void encode_range(pipeline::Worker& worker, const pipeline::TextRange& range) {
    const auto [begin, stop, end, readable] = range;
    WordSink sink(worker, readable);
    const split::SplitView& view = worker.split;
    switch (view.rule.family) {
        case split::Family::BlankPrefix:
            scan_masks<split::Family::BlankPrefix>(view, sink, begin, stop, end, readable);
            break;
        case split::Family::AnyPrefix:
            scan_masks<split::Family::AnyPrefix>(view, sink, begin, stop, end, readable);
            break;
        case split::Family::Cased:
            scan_masks<split::Family::Cased>(view, sink, begin, stop, end, readable);
            break;
        case split::Family::Adjacent:
            scan_adjacent(view, sink, begin, stop, end, readable);
            break;
        case split::Family::None:
            scan_stages(view, 0, sink, begin, stop, end);
            break;
    }
}
