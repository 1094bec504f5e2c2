// encode: values of units -> ids, four at a time. Text inside a target's namespace, before
// encode-inl.h. See emit_scalar-inl.h for the meaning.

// A value fills four lanes of 32 bits, the ids that count come first, and all that count are
// written next to each other:
//
//   value    count 2 | - b a        (20 bits each, a is the lowest)
//   lanes    a  b  0  0             lane number < count: 1 1 0 0
inline std::uint32_t write_inline_ids(const std::uint64_t* values, std::uint32_t begin,
                                      std::uint32_t end, std::uint32_t*& out) noexcept {
    const __m512i twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    const __m512i down = _mm512_setr_epi64(0, 40, 0, 40, 0, 40, 0, 40);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const __m512i first = _mm512_set1_epi64(vocab::kIdMask);
    const __m512i second = _mm512_set1_epi64(std::int64_t{vocab::kIdMask} << 32);
    std::uint32_t* to = out;
    std::uint32_t i = begin;
    for (; i + 4 <= end; i += 4) {
        const __m512i v =
            _mm512_maskz_permutexvar_epi64(255, twice, _mm512_maskz_loadu_epi64(15, values + i));
        const __m512i count = _mm512_maskz_srli_epi32(
            0xFFFF, _mm512_maskz_shuffle_epi32(0xFFFF, v, _MM_PERM_DDBB), 28);
        if (unlikely(_mm512_cmpgt_epu32_mask(count, _mm512_set1_epi32(vocab::kInlineIds)) != 0)) {
            break;
        }
        const __m512i low = _mm512_maskz_srlv_epi64(255, v, down);
        const __m512i ids =
            _mm512_or_si512(_mm512_and_si512(low, first),
                            _mm512_and_si512(_mm512_maskz_slli_epi64(255, low, 12), second));
        const __mmask16 is_id = _mm512_cmplt_epu32_mask(lane, count);
        const __m512i packed = _mm512_maskz_compress_epi32(is_id, ids);
        const unsigned total = count_bits(is_id);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half_of<0>(packed));
        if (unlikely(total > 8)) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), half_of<1>(packed));
        }
        to += total;
    }
    out = to;
    return i;
}
