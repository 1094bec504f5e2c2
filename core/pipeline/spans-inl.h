// Spans of the ids of a batch. Text compiled once per target, inside its namespace, behind encode.

// Where text stands that was not rewritten and is ASCII.
struct PlainPlace {
    const pipeline::SpanRange& range;

    [[nodiscard]] std::uint32_t first(const std::uint8_t* at) const noexcept {
        const std::ptrdiff_t i = at - range.begin;
        return i < range.floor ? range.floor : static_cast<std::uint32_t>(i);
    }
    [[nodiscard]] std::uint32_t last(const std::uint8_t* end) const noexcept {
        const std::ptrdiff_t i = end - range.begin;
        return i <= range.floor ? range.floor + 1 : static_cast<std::uint32_t>(i);
    }
    [[nodiscard]] pipeline::Place operator()(const std::uint8_t* begin,
                                             const std::uint8_t* end) const noexcept {
        return {range.origin + first(begin), range.origin + last(end)};
    }
};

// The same in characters of any size: a byte stands for the whole of its character.
struct CharPlace {
    PlainPlace plain;
    const std::uint64_t* leads;
    const std::uint32_t* before;

    explicit CharPlace(const pipeline::SpanRange& range) noexcept
        : plain{range}, leads(range.source->leads.data()), before(range.source->before.data()) {}

    [[nodiscard]] std::uint32_t rank(std::uint32_t at) const noexcept {
        return before[at / 64] + count_bits(leads[at / 64] & low_bits(at % 64));
    }
    [[nodiscard]] pipeline::Place operator()(const std::uint8_t* begin,
                                             const std::uint8_t* end) const noexcept {
        const pipeline::Place place = plain(begin, end);
        return {rank(place.begin + 1) - 1, rank(place.end)};
    }
};

// And in bytes.
struct BytePlace {
    PlainPlace plain;

    [[nodiscard]] pipeline::Place operator()(const std::uint8_t* begin,
                                             const std::uint8_t* end) const noexcept {
        const Bytes text = plain.range.source->text;
        pipeline::Place place = plain(begin, end);
        while ((text[place.begin] & 0xC0) == 0x80) {
            --place.begin;
        }
        while (place.end < text.size() && (text[place.end] & 0xC0) == 0x80) {
            ++place.end;
        }
        return place;
    }
};

// Where text stands that was rewritten.
template <bool kInChars>
struct AlignedPlace {
    CharPlace chars;

    [[nodiscard]] pipeline::Place operator()(const std::uint8_t* begin,
                                             const std::uint8_t* end) const noexcept {
        const pipeline::SpanRange& range = chars.plain.range;
        const std::uint32_t from = range.origin + range.aligned[chars.plain.first(begin)].begin;
        const std::uint32_t to = range.origin + range.aligned[chars.plain.last(end) - 1].end;
        if constexpr (kInChars) {
            return {chars.rank(from), chars.rank(to)};
        }
        return {from, to};
    }
};

template <bool kTrims, typename PlaceOf>
class SpanRun {
public:
    SpanRun(pipeline::Worker& worker, const pipeline::SpanRange& range, const PlaceOf& place_of,
            const std::uint32_t* ids) noexcept
        : e_(worker.encoder),
          spans_(worker.spans),
          source_(*range.source),
          place_of_(place_of),
          ids_(ids),
          out_(worker.spans.output.as<pipeline::Place>() + (ids - worker.first())),
          first_out_(worker.spans.text_ids == 0 ? out_ : nullptr) {}

    void add_units(std::uint32_t begin, std::uint32_t end) {
        for (std::uint32_t i = begin; i < end; ++i) {
            const encode::Unit unit = e_.unit[i];
            const std::uint8_t* const word = encode::unit_begin(unit);
            add_word({word, encode::unit_size(unit)}, count_ids(e_, i));
        }
    }

    void add_word(Bytes word, std::size_t count) {
        const std::uint8_t* const begin = word.data();
        const std::uint8_t* const end = begin + word.size();
        if (count == 1) {
            put(0, begin, end);
        } else if (count != 0) {
            const std::uint8_t* at = begin;
            for (std::size_t k = 0; k < count; ++k) {
                const std::size_t size = spans_.sizes[ids_[k]];
                const std::uint8_t* const next = at + size;
                if (__builtin_expect(size == 0 || next > end, 0)) {
                    at = begin;
                    break;
                }
                put(k, at, next);
                at = next;
            }
            if (__builtin_expect(at != end, 0)) {
                add_parts(word, count);
            }
        }
        ids_ += count;
        out_ += count;
    }

    [[nodiscard]] const std::uint32_t* ids() const noexcept { return ids_; }

private:
    // The sizes of its tokens do not tell.
    void add_parts(Bytes word, std::size_t count) {
        e_.find_parts(word, {ids_, count}, spans_.parts);
        for (std::size_t k = 0; k < count; ++k) {
            const encode::Part part = spans_.parts[k];
            put(k, word.data() + part.begin, word.data() + part.end);
        }
    }

    void put(std::size_t k, const std::uint8_t* begin, const std::uint8_t* end) noexcept {
        pipeline::Place place = place_of_(begin, end);
        if constexpr (kTrims) {
            if (*begin == ' ' || end[-1] == ' ') {
                place = trim(place, out_ + k == first_out_, begin, end);
            }
        }
        out_[k] = place;
    }

    [[nodiscard]] pipeline::Place trim(pipeline::Place place, bool is_first,
                                       const std::uint8_t* begin,
                                       const std::uint8_t* end) const noexcept {
        std::uint32_t lead = 0;
        std::uint32_t tail = 0;
        for (; begin + lead != end && begin[lead] == ' '; ++lead) {
        }
        for (; end - tail != begin && *(end - tail - 1) == ' '; ++tail) {
        }
        is_first |= place.begin == 0;
        if (is_first && lead == 1 && spans_.trim == pipeline::Trim::KeepAdded) {
            lead = 0;
        }
        return pipeline::trimmed(source_, place, lead, tail);
    }

    encode::WordEncoder& e_;
    pipeline::SpanState& spans_;
    const pipeline::SpanSource& source_;
    const PlaceOf place_of_;
    const std::uint32_t* ids_;
    pipeline::Place* out_;
    const pipeline::Place* first_out_;
};

// Calls `use` with the run for units of the range, whose ids begin at `ids`.
template <typename Use>
inline void with_span_run(pipeline::Worker& worker, const pipeline::SpanRange& range,
                          const std::uint32_t* ids, const Use& use) {
    const auto choose = [&](const auto& place_of) {
        using PlaceOf = std::decay_t<decltype(place_of)>;
        if (worker.spans.trim == pipeline::Trim::Never) {
            SpanRun<false, PlaceOf> run(worker, range, place_of, ids);
            use(run);
        } else {
            SpanRun<true, PlaceOf> run(worker, range, place_of, ids);
            use(run);
        }
    };
    const bool in_chars =
        !range.source->is_plain && worker.spans.unit == pipeline::SpanUnit::Characters;
    if (range.aligned != nullptr) {
        if (in_chars) {
            choose(AlignedPlace<true>{CharPlace(range)});
        } else {
            choose(AlignedPlace<false>{CharPlace(range)});
        }
    } else if (range.source->is_plain) {
        choose(PlainPlace{range});
    } else if (in_chars) {
        choose(CharPlace(range));
    } else {
        choose(BytePlace{PlainPlace{range}});
    }
}

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
    spans.output.as<pipeline::Place>()[id - worker.first()] = place;
}

// Spans of the units [begin, end), whose ids begin at `ids`.
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
        with_span_run(worker, spans.ranges[spans.next_range - 1], ids, [&](auto& run) {
            run.add_units(i, stop);
            spans.text_ids += static_cast<std::size_t>(run.ids() - ids);
            ids = run.ids();
        });
        i = stop;
    }
}

// Spans of one word that is not in the batch; its ids are where the worker's next ones go.
inline void write_giant_spans(pipeline::Worker& worker, Bytes word, std::size_t count) {
    with_span_run(worker, worker.spans.ranges.back(), worker.cursor,
                  [&](auto& run) { run.add_word(word, count); });
    worker.spans.text_ids += count;
}
