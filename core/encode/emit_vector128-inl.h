// encode: values of units -> ids, for targets of 128 bits: four at a time where each is one id, as
// most words are. Text inside a target's namespace, before encode-inl.h. See emit_scalar-inl.h for
// the meaning.

// Four values of one id each, in halves of 32 bits: the upper ones are equal, the lower ones ids.
//
//   value   count 1, then zeros | id
TOKENMILL_INLINE bool write_single_ids(const std::uint64_t* values, std::uint32_t* out) noexcept {
    const Vector low = load16(values);
    const Vector high = load16(values + 2);
    store16(out, even_numbers(low, high));
    return is_all(equal_numbers(odd_numbers(low, high), all_numbers(std::uint32_t{1} << 28)));
}

inline std::uint32_t write_inline_ids(const std::uint64_t* values, std::uint32_t begin,
                                      std::uint32_t end, std::uint32_t*& out) noexcept {
    std::uint32_t* to = out;
    std::uint32_t i = begin;
    while (i < end) {
        if (end - i >= 4 && write_single_ids(values + i, to)) {
            to += 4;
            i += 4;
            continue;
        }
        const std::uint32_t stop = end - i < 4 ? end : i + 4;
        for (; i < stop; ++i) {
            const std::uint32_t count = vocab::value_tag(values[i]);
            if (unlikely(count > vocab::kInlineIds)) {
                out = to;
                return i;
            }
            store_inline_ids(to, values[i]);
            to += count;
        }
    }
    out = to;
    return i;
}
