// encode: units of the batch -> values of the 8-byte table, without a number for the slot. Text
// inside a target's namespace, after ahead-inl.h. See probe_scalar-inl.h for the meaning.

// The value of a unit is what is left of its line's four values where the key is the same: 0 if no
// key is. No stored value is 0, and neither is that of key 0. Keys are read before values, so that
// a key that another worker has just written comes with its value.
inline std::uint32_t probe8(encode::WordEncoder& e, std::uint16_t* missing) noexcept {
    const auto* const lines = reinterpret_cast<const std::uint8_t*>(e.tables.lines8);
    const std::uint32_t count = e.count;
    for (std::uint32_t i = 0; i < count; i += 8) {  // up to seven stale units more: harmless
        const std::uint32_t* const line_of = e.line + i;
        const std::uint64_t* const key_of = e.key + i;
        std::uint64_t* const value_of = e.value + i;
        TOKENMILL_UNROLL_8
        for (std::size_t k = 0; k < 8; ++k) {
            prefetch_line(lines + line_of[k + kPrefetchAhead]);
            const auto* const line = reinterpret_cast<const encode::Line8*>(lines + line_of[k]);
            const __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i*>(line->key));
            const __mmask8 same = _mm256_cmpeq_epi64_mask(
                keys, _mm256_set1_epi64x(static_cast<long long>(key_of[k])));
            asm volatile("" ::: "memory");
            const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(line->value));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(value_of + k),
                             _mm256_castsi256_si128(_mm256_maskz_compress_epi64(same, values)));
        }
    }
    // Afterwards: a wide load would wait for the narrow stores.
    const __m128i iota = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    std::uint32_t n_missing = 0;
    for (std::uint32_t i = 0; i < count; i += 8) {
        const __m512i values = _mm512_load_si512(e.value + i);
        const auto is_missing =
            static_cast<__mmask8>(_mm512_testn_epi64_mask(values, values) & low_bits(count - i));
        const __m128i indices = _mm_add_epi16(iota, _mm_set1_epi16(static_cast<short>(i)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(missing + n_missing),
                         _mm_maskz_compress_epi16(is_missing, indices));
        n_missing += count_bits(is_missing);
    }
    return n_missing;
}
