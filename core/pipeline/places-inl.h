// pipeline: bytes of the batch's text -> their place in the document. Text compiled once per
// target, inside its namespace. One struct for each way in which a text can relate to its document;
// they share one interface, place(begin, end), and with_span_run of spans-inl.h chooses the
// quickest.

// Text that was not rewritten and is ASCII: a byte is a character, so places are differences.
struct PlainPlace {
    // Does a leading blank of a token move its place by exactly one?
    static constexpr bool kBlankIsOne = true;
    const std::uint8_t* base;  // where the document would start

    explicit PlainPlace(const pipeline::SpanRange& range) noexcept
        : base(range.begin - range.origin) {}

    TOKENMILL_INLINE pipeline::Place operator()(const std::uint8_t* begin,
                                                const std::uint8_t* end) const noexcept {
        return {static_cast<std::uint32_t>(begin - base), static_cast<std::uint32_t>(end - base)};
    }
};

inline bool continues_character(std::uint8_t byte) noexcept {
    return (byte & 0xC0) == 0x80;
}

// Characters before a byte of the document: a count for every 64 bytes, and the bits below.
//
//   text     c  a  f  c3 a9 !        leads   1 1 1 1 0 1    a bit for each first byte
//   rank(5) = before[0] + popcount(leads & 0b11111) = 4
struct CharRank {
    const std::uint64_t* leads;
    const std::uint32_t* before;

    explicit CharRank(const pipeline::SpanSource& source) noexcept
        : leads(source.leads.data()), before(source.before.data()) {}

    TOKENMILL_INLINE std::uint32_t operator()(std::uint32_t at) const noexcept {
        return before[at / 64] + count_bits(leads[at / 64] & low_bits(at % 64));
    }
};

// Text that was not rewritten, in characters of any size. A token may start inside a character (its
// bytes are tokens): then it counts as the whole of it. Most tokens start where the one before
// ended, so that one count serves both.
struct CharPlace {
    static constexpr bool kBlankIsOne = true;
    PlainPlace plain;
    CharRank rank;
    const std::uint8_t* last_end = nullptr;
    std::uint32_t last_rank = 0;

    explicit CharPlace(const pipeline::SpanRange& range) noexcept
        : plain(range), rank(*range.source) {}

    TOKENMILL_INLINE pipeline::Place operator()(const std::uint8_t* begin,
                                                const std::uint8_t* end) noexcept {
        const pipeline::Place place = plain(begin, end);
        const std::uint32_t first = begin == last_end ? last_rank : rank(place.begin);
        last_rank = rank(place.end);
        last_end = end;
        return {first - static_cast<std::uint32_t>(continues_character(*begin)), last_rank};
    }
};

// The same in bytes: a token that starts or ends inside a character gets all of its bytes.
struct BytePlace {
    static constexpr bool kBlankIsOne = true;
    PlainPlace plain;
    const std::uint8_t* text;
    std::size_t size;

    explicit BytePlace(const pipeline::SpanRange& range) noexcept
        : plain(range), text(range.source->text.data()), size(range.source->text.size()) {}

    TOKENMILL_INLINE pipeline::Place operator()(const std::uint8_t* begin,
                                                const std::uint8_t* end) const noexcept {
        pipeline::Place place = plain(begin, end);
        while (continues_character(text[place.begin])) {
            --place.begin;
        }
        while (place.end < size && continues_character(text[place.end])) {
            ++place.end;
        }
        return place;
    }
};

// Text that was rewritten: each byte has its own place, in bytes from the range's origin.
template <bool kInChars>
struct AlignedPlace {
    static constexpr bool kBlankIsOne = kInChars;
    const pipeline::SpanRange& range;
    CharRank rank;

    explicit AlignedPlace(const pipeline::SpanRange& where) noexcept
        : range(where), rank(*where.source) {}

    TOKENMILL_INLINE pipeline::Place operator()(const std::uint8_t* begin,
                                                const std::uint8_t* end) const noexcept {
        const std::uint32_t from = range.origin + range.aligned[begin - range.begin].begin;
        const std::uint32_t to = range.origin + range.aligned[end - range.begin - 1].end;
        if constexpr (kInChars) {
            return {rank(from), rank(to)};
        }
        return {from, to};
    }
};

// Text that starts with something put in front, which is not in the document.
struct FrontPlace {
    static constexpr bool kBlankIsOne = false;
    const pipeline::SpanRange& range;

    explicit FrontPlace(const pipeline::SpanRange& where) noexcept : range(where) {}

    [[nodiscard]] pipeline::Place operator()(const std::uint8_t* begin,
                                             const std::uint8_t* end) const noexcept {
        return pipeline::place_of(range, begin, end);
    }
};
