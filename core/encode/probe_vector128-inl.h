// encode: units of the batch -> values of the 8-byte table, two at a time, without a number for the
// slot. Text inside a target's namespace, after ahead-inl.h. See probe_scalar-inl.h for the
// meaning.

// Which of a line's four keys are that of a unit: ones or zeros.
struct SameKeys {
    Vector low;   // of places 0 and 1
    Vector high;  // of places 2 and 3
};
TOKENMILL_INLINE SameKeys compare_keys(const std::uint8_t* line,
                                       const std::uint64_t* key) noexcept {
    const Vector wanted = all_longs(key);
    return {equal_longs(load16(line), wanted), equal_longs(load16(line + 16), wanted)};
}

// What is left of a line's four values where the key is the same: 0 if it is not. No stored value
// is 0, and neither is that of key 0, which is in place 0 of its line.
//
//   keys     k0 | k1   k2 | k3
//   values   v0 | v1   v2 | v3
//   result   v0, else v2 | v1, else v3
//
// One key may be the same more than once: two workers may have filled two places with one word at
// the same time, with values that differ in where the ids are stored. So values are chosen, never
// added up.
TOKENMILL_INLINE Vector keep_values(const std::uint8_t* line, SameKeys same) noexcept {
    constexpr std::size_t kValues = offsetof(encode::Line8, value);
    const Vector high = both(load16(line + kValues + 16), same.high);
    return choose(same.low, load16(line + kValues), high);
}

// Eight units; is one of them missing? Keys are read before values, so that a key that another
// worker has just written comes with its value. Processors that change the order of reads need a
// barrier for that: one for all eight, and none for tables that nobody else fills.
template <bool kShared>
TOKENMILL_INLINE bool probe_eight(const std::uint8_t* lines, const std::uint32_t* line_of,
                                  const std::uint64_t* key_of, std::uint64_t* value_of) noexcept {
    SameKeys same[8];
    Vector found[4];
    for (std::size_t k = 0; k < 8; ++k) {
        prefetch_line(lines + line_of[k + kPrefetchAhead]);
        same[k] = compare_keys(lines + line_of[k], key_of + k);
    }
    if constexpr (kShared) {
        std::atomic_thread_fence(std::memory_order_acquire);
    }
    for (std::size_t k = 0; k < 8; k += 2) {
        found[k / 2] = first_longs(keep_values(lines + line_of[k], same[k]),
                                   keep_values(lines + line_of[k + 1], same[k + 1]));
        store16(value_of + k, found[k / 2]);
    }
    return has_zero_long(found);
}

template <bool kShared>
TOKENMILL_INLINE std::uint32_t probe8_in(encode::WordEncoder& e, std::uint16_t* missing) noexcept {
    const auto* const lines = reinterpret_cast<const std::uint8_t*>(e.tables.lines8);
    const std::uint32_t count = e.count;
    std::uint32_t n_missing = 0;
    for (std::uint32_t i = 0; i < count; i += 8) {  // up to seven stale units more: harmless
        if (likely(!probe_eight<kShared>(lines, e.line + i, e.key + i, e.value + i))) {
            continue;
        }
        for (std::uint32_t k = i; k < i + 8 && k < count; ++k) {
            missing[n_missing] = static_cast<std::uint16_t>(k);
            n_missing += std::uint32_t{e.value[k] == 0};
        }
    }
    return n_missing;
}

inline std::uint32_t probe8(encode::WordEncoder& e, std::uint16_t* missing) noexcept {
    return e.tables.view ? probe8_in<true>(e, missing) : probe8_in<false>(e, missing);
}
