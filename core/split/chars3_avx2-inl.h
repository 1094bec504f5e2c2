// The three-byte characters of a block -> code points, with AVX2. Text inside a target's namespace.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// Eight characters: 1110aaaa 10bbbbbb 10cccccc -> aaaabbbbbbcccccc.
inline __m256i decode3_x8(__m256i raw) noexcept {
    const __m256i parts = _mm256_and_si256(raw, _mm256_set1_epi32(0x003F3F0F));
    const __m256i two =
        _mm256_maddubs_epi16(parts, _mm256_set1_epi32(0x00010140));  // a * 64 + b, c
    return _mm256_madd_epi16(two, _mm256_set1_epi32(0x00010040));    // * 64 + c
}

// The bytes of the next four characters, a lane each; takes them out of `leads`.
inline __m128i load_chars3_x4(const std::uint8_t* bytes, std::uint64_t& leads) noexcept {
    const auto next = [&] {
        const unsigned i = trailing_zeros(leads);
        leads &= leads - 1;
        return load<std::int32_t>(bytes + i);
    };
    __m128i four = _mm_cvtsi32_si128(next());
    four = _mm_insert_epi32(four, next(), 1);
    four = _mm_insert_epi32(four, next(), 2);
    return _mm_insert_epi32(four, next(), 3);
}

// The code points of the first 8 * kGroups characters; where there are fewer, of what lies 64 bytes
// after the start of the block.
template <unsigned kGroups>
TOKENMILL_INLINE void decode_chars3(const std::uint8_t* bytes, std::uint64_t leads,
                                    __m256i* codes) noexcept {
    for (unsigned g = 0; g < kGroups; ++g) {
        const __m128i low = load_chars3_x4(bytes, leads);
        const __m128i high = load_chars3_x4(bytes, leads);
        codes[g] = decode3_x8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
    }
}

#include "split/chars3_vector-inl.h"
