// pipeline: units of the batch and their ids -> a span for every id. Text compiled once per target,
// inside its namespace, after places-inl.h. Spans are written right after the ids of a batch, while
// its units still point into the text.

// Writes the spans of one range's units. A template over the two choices that would otherwise be
// made for every id.
template <pipeline::Trim kTrim, typename PlaceOf>
class SpanRun {
public:
    SpanRun(pipeline::Worker& worker, const pipeline::SpanRange& range,
            const std::uint32_t* ids) noexcept
        : e_(worker.encoder),
          spans_(worker.spans),
          source_(*range.source),
          place_of_(range),
          ids_(ids),
          out_(worker.memory.spans.as<pipeline::Place>() + (ids - worker.first())),
          first_out_(worker.spans.text_ids == 0 ? out_ : nullptr) {}

    void add_units(std::uint32_t begin, std::uint32_t end) {
        for (std::uint32_t i = begin; i < end; ++i) {
            const encode::Unit unit = e_.unit[i];
            const std::uint8_t* const word = encode::unit_begin(unit);
            add_word({word, encode::unit_size(unit)}, count_ids(e_, i));
        }
    }

    // Most words are one id, whose span is the word. Else each id takes as many bytes as its token
    // has; where that does not add up to the word (size 0: it varies), the slow way finds the
    // parts.
    TOKENMILL_INLINE void add_word(Bytes word, std::size_t count) {
        const std::uint8_t* const begin = word.data();
        const std::uint8_t* const end = begin + word.size();
        if (count == 1 && !spans_.has_drops) {
            put(0, begin, end, word);
        } else if (count != 0) {
            const std::uint8_t* at = begin;
            for (std::size_t k = 0; k < count; ++k) {
                const std::size_t size = spans_.sizes[ids_[k]];
                const std::uint8_t* const next = at + size;
                if (unlikely(size == 0 || next > end)) {
                    at = begin;
                    break;
                }
                put(k, at, next, {at, next});
                at = next;
            }
            if (unlikely(at != end)) {
                add_parts(word, count);
            }
        }
        ids_ += count;
        out_ += count;
    }

    [[nodiscard]] const std::uint32_t* ids() const noexcept { return ids_; }

private:
    // For words in which the sizes of the tokens are not enough.
    void add_parts(Bytes word, std::size_t count) {
        e_.find_parts(word, {ids_, count}, spans_.parts);
        for (std::size_t k = 0; k < count; ++k) {
            const encode::WordPart part = spans_.parts[k];
            put(k, word.data() + part.begin, word.data() + part.end, e_.vocab.token_bytes(ids_[k]));
        }
    }

    // `token` decides what is trimmed: the text of the id, if nothing was dropped.
    TOKENMILL_INLINE void put(std::size_t k, const std::uint8_t* begin, const std::uint8_t* end,
                              Bytes token) noexcept {
        pipeline::Place place = place_of_(begin, end);
        if constexpr (kTrim != pipeline::Trim::Never) {
            // At most one blank, in front; without jumps, because half of all words have one.
            unsigned is_usual = static_cast<unsigned>(token[token.size() > 1] != ' ') &
                                static_cast<unsigned>(token.back() != ' ') &
                                static_cast<unsigned>(place.begin != place.end);
            if constexpr (kTrim == pipeline::Trim::KeepAdded) {
                is_usual &= static_cast<unsigned>(place.begin != 0) &
                            static_cast<unsigned>(out_ + k != first_out_);
            }
            if (is_usual != 0 && (PlaceOf::kBlankIsOne || source_.is_plain)) {
                place.begin += static_cast<std::uint32_t>(token.front() == ' ');
            } else if (token.front() == ' ' || token.back() == ' ') {
                trim(place, out_ + k == first_out_, token);
            }
        }
        out_[k] = place;
    }

    TOKENMILL_NOINLINE void trim(pipeline::Place& place, bool is_first,
                                 Bytes token) const noexcept {
        std::uint32_t lead = 0;
        std::uint32_t tail = 0;
        while (lead < token.size() && token[lead] == ' ') {
            ++lead;
        }
        while (tail < token.size() && token[token.size() - 1 - tail] == ' ') {
            ++tail;
        }
        is_first |= place.begin == 0;
        if (is_first && lead == 1 && kTrim == pipeline::Trim::KeepAdded) {
            lead = 0;
        }
        place = pipeline::trimmed(source_, place, lead, tail);
    }

    encode::WordEncoder& e_;
    pipeline::SpanState& spans_;
    const pipeline::SpanSource& source_;
    PlaceOf place_of_;
    const std::uint32_t* ids_;
    pipeline::Place* out_;
    const pipeline::Place* first_out_;
};

// Calls `use` with the quickest run for text of the range from `begin` on. `ids` are its first ids.
template <typename Use>
inline void with_span_run(pipeline::Worker& worker, const pipeline::SpanRange& range,
                          const std::uint8_t* begin, const std::uint32_t* ids, const Use& use) {
    const auto run_with = [&]<typename PlaceOf>(std::type_identity<PlaceOf>) {
        using pipeline::Trim;
        switch (worker.spans.trim) {
            case Trim::Never:
                return use(SpanRun<Trim::Never, PlaceOf>(worker, range, ids));
            case Trim::All:
                return use(SpanRun<Trim::All, PlaceOf>(worker, range, ids));
            case Trim::KeepAdded:
                return use(SpanRun<Trim::KeepAdded, PlaceOf>(worker, range, ids));
        }
    };
    const bool in_chars =
        !range.source->is_plain && worker.spans.unit == pipeline::SpanUnit::Characters;
    if (begin - range.begin < static_cast<std::ptrdiff_t>(range.floor)) {
        run_with(std::type_identity<FrontPlace>{});
    } else if (range.aligned != nullptr && in_chars) {
        run_with(std::type_identity<AlignedPlace<true>>{});
    } else if (range.aligned != nullptr) {
        run_with(std::type_identity<AlignedPlace<false>>{});
    } else if (range.source->is_plain) {
        run_with(std::type_identity<PlainPlace>{});
    } else if (in_chars) {
        run_with(std::type_identity<CharPlace>{});
    } else {
        run_with(std::type_identity<BytePlace>{});
    }
}

// The span of an id that was known before encoding: an added token, or one put around the document.
inline void write_fixed_span(pipeline::Worker& worker, const std::uint32_t* id) noexcept {
    pipeline::SpanState& spans = worker.spans;
    const pipeline::FixedSpan& fixed = spans.fixed[spans.next_fixed++];
    pipeline::Place place = fixed.place;
    if (fixed.source != nullptr) {
        const bool is_first = spans.text_ids == 0 || place.begin == 0;
        const bool keeps = is_first && spans.trim == pipeline::Trim::KeepAdded && fixed.lead == 1;
        if (spans.trim != pipeline::Trim::Never) {
            place = pipeline::trimmed(*fixed.source, place, keeps ? 0 : fixed.lead, fixed.tail);
        }
        ++spans.text_ids;
    }
    worker.memory.spans.as<pipeline::Place>()[id - worker.first()] = place;
}

// Spans of the units [begin, end); `ids` are their first ids. Units are taken in runs of one range:
//
//   unit     0  1  2 | 3 | 4  5  6 | 7
//            range A | F |  range B        F: fixed, with a span of its own
inline void write_spans(pipeline::Worker& worker, std::uint32_t begin, std::uint32_t end,
                        const std::uint32_t* ids) {
    pipeline::SpanState& spans = worker.spans;
    for (std::uint32_t i = begin; i < end;) {
        if (spans.next_fixed < worker.fixed.size() && worker.fixed[spans.next_fixed].index == i) {
            write_fixed_span(worker, ids++);
            ++i;
            continue;
        }
        while (spans.next_range < spans.ranges.size() &&
               spans.ranges[spans.next_range].first_unit <= i) {
            ++spans.next_range;
        }
        std::uint32_t stop = end;
        if (spans.next_range < spans.ranges.size()) {
            stop = std::min(stop, spans.ranges[spans.next_range].first_unit);
        }
        if (spans.next_fixed < worker.fixed.size()) {
            stop = std::min(stop, worker.fixed[spans.next_fixed].index);
        }
        const pipeline::SpanRange& range = spans.ranges[spans.next_range - 1];
        const std::uint8_t* const from = encode::unit_begin(worker.encoder.unit[i]);
        if (from - range.begin < static_cast<std::ptrdiff_t>(range.floor)) {
            stop = i + 1;  // text put in front, perhaps followed by text of the document
        }
        with_span_run(worker, range, from, ids, [&](auto&& run) {
            run.add_units(i, stop);
            spans.text_ids += static_cast<std::size_t>(run.ids() - ids);
            ids = run.ids();
        });
        i = stop;
    }
}

// The number of the word that the next unit belongs to. Words are either units or whole ranges; a
// range that continues in the next batch keeps its number.
inline std::uint32_t number_word(pipeline::WordNumbers& words, pipeline::SpanRange& range,
                                 std::size_t ids) noexcept {
    if (words.kind == pipeline::Words::Ranges) {
        words.count += static_cast<std::uint32_t>(!range.is_numbered);
        range.is_numbered = true;
    } else {
        words.count += static_cast<std::uint32_t>(ids != 0 || !words.skips_empty);
    }
    return words.count - 1;
}

// Word numbers of the units [begin, end); `ids` are their first ids. Comes before write_spans,
// which moves next_fixed and next_range.
inline void write_words(pipeline::Worker& worker, std::uint32_t begin, std::uint32_t end,
                        const std::uint32_t* ids) {
    pipeline::SpanState& spans = worker.spans;
    pipeline::WordNumbers& words = spans.words;
    if (words.kind == pipeline::Words::None) {
        return;
    }
    std::uint32_t* out = worker.memory.words.as<std::uint32_t>() + (ids - worker.first());
    std::size_t fixed = spans.next_fixed;
    std::size_t range = spans.next_range;
    for (std::uint32_t i = begin; i < end; ++i) {
        if (fixed < worker.fixed.size() && worker.fixed[fixed].index == i) {
            const bool is_text = spans.fixed[fixed++].source != nullptr;
            *out++ = is_text ? words.count++ : pipeline::WordNumbers::kNone;
            continue;
        }
        while (range < spans.ranges.size() && spans.ranges[range].first_unit <= i) {
            ++range;
        }
        const std::uint32_t count = count_ids(worker.encoder, i);
        const std::uint32_t number = number_word(words, spans.ranges[range - 1], count);
        for (std::uint32_t k = 0; k < count; ++k) {
            *out++ = number;
        }
    }
}

// Spans of one word that is not in the batch; its ids are where the worker's next ones go.
inline void write_giant_spans(pipeline::Worker& worker, Bytes word, std::size_t count) {
    pipeline::WordNumbers& words = worker.spans.words;
    if (words.kind != pipeline::Words::None) {
        std::uint32_t* const out = worker.memory.words.as<std::uint32_t>() + worker.written();
        const std::uint32_t number = number_word(words, worker.spans.ranges.back(), count);
        for (std::size_t k = 0; k < count; ++k) {
            out[k] = number;
        }
    }
    with_span_run(worker, worker.spans.ranges.back(), word.data(), worker.cursor,
                  [&](auto&& run) { run.add_word(word, count); });
    worker.spans.text_ids += count;
}
