// Groups of units -> UTF-8 with AVX2. Text inside a target's namespace; transcode_scalar-inl.h has
// the meaning.

constexpr std::ptrdiff_t kAsciiUnits = 32;
template <typename Unit>
constexpr std::ptrdiff_t kGroupUnits = 8;

inline __m256i load32(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

inline bool write_ascii(const std::uint8_t* from, std::uint8_t* out) noexcept {
    const __m256i units = load32(from);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), units);
    return _mm256_movemask_epi8(units) == 0;
}
inline bool write_ascii(const std::uint16_t* from, std::uint8_t* out) noexcept {
    const __m256i low = load32(from);
    const __m256i high = load32(from + 16);
    // packus works in halves of 16 bytes: the middle two change places again
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), packed);
    return _mm256_testz_si256(_mm256_or_si256(low, high),
                              _mm256_set1_epi16(static_cast<short>(0xFF80))) != 0;
}
inline bool write_ascii(const std::uint32_t* from, std::uint8_t* out) noexcept {
    __m256i any = _mm256_setzero_si256();
    for (std::ptrdiff_t i = 0; i < kAsciiUnits; i += 8) {
        const __m256i units = load32(from + i);
        any = _mm256_or_si256(any, units);
        const __m128i words =
            _mm_packus_epi32(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), _mm_packus_epi16(words, words));
    }
    return _mm256_testz_si256(any, _mm256_set1_epi32(~0x7F)) != 0;
}

inline __m256i load_units(const std::uint8_t* from) noexcept {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
inline __m256i load_units(const std::uint16_t* from) noexcept {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline __m256i load_units(const std::uint32_t* from) noexcept {
    return load32(from);
}

#include "pipeline/transcode_table-inl.h"

inline std::size_t pack_four(__m128i bytes, unsigned row, std::uint8_t* out) noexcept {
    const __m128i pick = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kPack.pick[row]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, pick));
    return kPack.size[row];
}

// Bits [from, from + 6) of each code point, at `to`.
template <int kFrom, int kTo>
inline __m256i six_bits(__m256i codes) noexcept {
    const __m256i bits = _mm256_and_si256(_mm256_srli_epi32(codes, kFrom), _mm256_set1_epi32(0x3F));
    return _mm256_slli_epi32(bits, kTo);
}

inline __m256i any_of(__m256i a, __m256i b, __m256i c, int marks) noexcept {
    return _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, _mm256_set1_epi32(marks)));
}

inline unsigned lanes_of(__m256i mask) noexcept {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}

template <typename Unit>
inline std::size_t write_group(const Unit* from, std::uint8_t* out) noexcept {
    const __m256i codes = load_units(from);
    const __m256i none = _mm256_setzero_si256();
    const auto above = [&](int most) { return _mm256_cmpgt_epi32(codes, _mm256_set1_epi32(most)); };
    const __m256i two = above(0x7F);
    unsigned low = lanes_of(two);  // sizes less one: 0, 1, 2, 3
    unsigned high = 0;
    __m256i bytes = _mm256_blendv_epi8(
        codes, any_of(_mm256_srli_epi32(codes, 6), six_bits<0, 8>(codes), none, 0x80C0), two);
    if constexpr (sizeof(Unit) > 1) {
        const __m256i surrogate = _mm256_cmpeq_epi32(
            _mm256_and_si256(codes, _mm256_set1_epi32(~0x7FF)), _mm256_set1_epi32(0xD800));
        if (lanes_of(surrogate) != 0) {
            return 0;
        }
        const __m256i three = above(0x7FF);
        high = lanes_of(three);
        low ^= high;
        bytes = _mm256_blendv_epi8(bytes,
                                   any_of(_mm256_srli_epi32(codes, 12), six_bits<6, 8>(codes),
                                          six_bits<0, 16>(codes), 0x8080E0),
                                   three);
    }
    if constexpr (sizeof(Unit) > 2) {
        const __m256i four = above(0xFFFF);
        low ^= lanes_of(four);
        const __m256i first = _mm256_or_si256(_mm256_srli_epi32(codes, 18), six_bits<12, 8>(codes));
        bytes = _mm256_blendv_epi8(bytes,
                                   any_of(first, six_bits<6, 16>(codes), six_bits<0, 24>(codes),
                                          static_cast<int>(0x808080F0)),
                                   four);
    }
    const std::size_t half =
        pack_four(_mm256_castsi256_si128(bytes), (low & 15) | (high & 15) << 4, out);
    return half +
           pack_four(_mm256_extracti128_si256(bytes, 1), low >> 4 | (high >> 4) << 4, out + half);
}
