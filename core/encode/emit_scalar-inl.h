// encode: values of units -> ids, one at a time. Text inside a target's namespace, before
// encode-inl.h.

// Writes the ids of units from `begin` on, up to `end` or to a unit near by whose ids do not fit
// into its value. Returns the first unit that is not written. Up to sixteen ids more than there
// are may be stored; the next unit overwrites them. Hence the slack after the output.
inline std::uint32_t write_inline_ids(const std::uint64_t* values, std::uint32_t begin,
                                      std::uint32_t end, std::uint32_t*& out) noexcept {
    std::uint32_t* to = out;
    std::uint32_t i = begin;
    for (; i < end; ++i) {
        const std::uint32_t count = vocab::value_tag(values[i]);
        if (unlikely(count > vocab::kInlineIds)) {
            break;
        }
        store_inline_ids(to, values[i]);
        to += count;
    }
    out = to;
    return i;
}
