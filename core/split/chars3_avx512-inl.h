// The three-byte characters of a block -> code points, with AVX-512. Text inside a target's
// namespace.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// The masked forms throughout: GCC 12 takes the others for uses of uninitialised values.
template <int kHalf>
inline __m256i half_of(__m512i lanes) noexcept {
    return _mm512_maskz_extracti64x4_epi64(15, lanes, kHalf);
}

// The byte at `at` + i for each bit i of `leads`, packed into 16-bit lanes: byte k of all
// characters when `at` is k bytes into the block.
inline __m512i byte_of_chars(const std::uint8_t* at, std::uint64_t leads) noexcept {
    const __m512i packed = _mm512_maskz_compress_epi8(leads, _mm512_loadu_si512(at));
    return _mm512_maskz_cvtepu8_epi16(~0U, half_of<0>(packed));
}

// The code points of the first 8 * kGroups characters; 0 where there are fewer.
//   1110aaaa 10bbbbbb 10cccccc -> aaaabbbbbbcccccc
template <unsigned kGroups>
TOKENMILL_INLINE void decode_chars3(const std::uint8_t* bytes, std::uint64_t leads,
                                    __m256i* codes) noexcept {
    const __m512i six = _mm512_set1_epi16(63);
    const __m512i first = _mm512_maskz_slli_epi16(~0U, byte_of_chars(bytes, leads), 12);
    const __m512i second =
        _mm512_maskz_slli_epi16(~0U, _mm512_and_si512(byte_of_chars(bytes + 1, leads), six), 6);
    const __m512i third = _mm512_and_si512(byte_of_chars(bytes + 2, leads), six);
    const __m512i all = _mm512_or_si512(first, _mm512_or_si512(second, third));
    codes[0] = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(half_of<0>(all)));
    if constexpr (kGroups > 1) {
        codes[1] = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(half_of<0>(all), 1));
        codes[2] = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(half_of<1>(all)));
    }
}

#include "split/chars3_vector-inl.h"
