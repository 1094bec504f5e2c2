// Groups of units -> UTF-8 with AVX-512. Text inside a target's namespace; transcode_scalar-inl.h
// has the meaning.

constexpr std::ptrdiff_t kAsciiUnits = 32;
template <typename Unit>
constexpr std::ptrdiff_t kGroupUnits = sizeof(Unit) == 1 ? 32 : 16;
constexpr __mmask16 kAllCodes = 0xFFFF;  // without a mask GCC warns of an undefined vector

// Latin-1 is not asked: a letter like U+00E4 is in every second run of German, so that the answer
// would be guessed wrongly, and a group takes hardly longer.
inline bool write_ascii(const std::uint8_t* /*from*/, std::uint8_t* /*out*/) noexcept {
    return false;
}
inline bool write_ascii(const std::uint16_t* from, std::uint8_t* out) noexcept {
    const __m512i units = _mm512_loadu_si512(from);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm512_maskz_cvtepi16_epi8(~__mmask32{0}, units));
    return _mm512_test_epi16_mask(units, _mm512_set1_epi16(static_cast<short>(0xFF80))) == 0;
}
inline bool write_ascii(const std::uint32_t* from, std::uint8_t* out) noexcept {
    const __m512i low = _mm512_loadu_si512(from);
    const __m512i high = _mm512_loadu_si512(from + 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_maskz_cvtepi32_epi8(kAllCodes, low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16),
                     _mm512_maskz_cvtepi32_epi8(kAllCodes, high));
    return _mm512_test_epi32_mask(_mm512_or_si512(low, high), _mm512_set1_epi32(~0x7F)) == 0;
}

inline __m512i load_units(const std::uint16_t* from) noexcept {
    return _mm512_maskz_cvtepu16_epi32(kAllCodes,
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline __m512i load_units(const std::uint32_t* from) noexcept {
    return _mm512_loadu_si512(from);
}

// Stores the bytes of the lanes whose bits are set, next to each other, and returns how many.
inline std::size_t store_kept(std::uint8_t* out, __mmask64 kept, __m512i bytes) noexcept {
    // To a register first: to memory the instruction takes a hundred cycles on Zen 4.
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
    return ones_of(kept);
}

// Latin-1, in lanes of two bytes.
inline std::size_t write_group(const std::uint8_t* from, std::uint8_t* out) noexcept {
    const __m256i units = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m512i codes = _mm512_maskz_cvtepu8_epi16(~__mmask32{0}, units);
    const __mmask32 two = _mm256_movepi8_mask(units);
    // 00000000 abcdefgh -> 10cdefgh 110000ab
    const __m512i first = _mm512_maskz_srli_epi16(~__mmask32{0}, codes, 6);
    const __m512i second = _mm512_maskz_slli_epi16(~__mmask32{0}, codes, 8);
    constexpr int kAndOr = 0xEA;  // (a & b) | c
    const __m512i marked = _mm512_ternarylogic_epi32(
        second, _mm512_set1_epi16(0x3F00),
        _mm512_or_si512(first, _mm512_set1_epi16(static_cast<short>(0x80C0))), kAndOr);
    const __mmask64 kept = _mm512_movepi8_mask(_mm512_mask_mov_epi16(
        _mm512_set1_epi16(0x0080), two, _mm512_set1_epi16(static_cast<short>(0x8080))));
    return store_kept(out, kept, _mm512_mask_mov_epi16(codes, two, marked));
}

// The bytes of a code point, first byte lowest: each takes six bits, at these places of the code
// point, after the bits that mark it.
//   two bytes      110aaaaa 10bbbbbb                       6 0
//   three bytes    1110aaaa 10bbbbbb 10cccccc             12 6 0
//   four bytes     11110aaa 10bbbbbb 10cccccc 10dddddd    18 12 6 0
inline __m512i spread_bits(__m512i codes, unsigned places, unsigned bits, unsigned marks) noexcept {
    // A pair of code points is one number for the shift: the second starts at bit 32.
    const std::uint64_t shifts = places | std::uint64_t{places + 0x20202020U} << 32;
    const __m512i spread = _mm512_maskz_multishift_epi64_epi8(
        ~__mmask64{0}, _mm512_set1_epi64(static_cast<long long>(shifts)), codes);
    constexpr int kAndOr = 0xEA;  // (a & b) | c
    return _mm512_ternarylogic_epi32(spread, _mm512_set1_epi32(static_cast<int>(bits)),
                                     _mm512_set1_epi32(static_cast<int>(marks)), kAndOr);
}

// Four bytes are made for each code point; `keep` has its sign bits where they count.
template <typename Unit>
inline std::size_t write_group(const Unit* from, std::uint8_t* out) noexcept {
    const __m512i codes = load_units(from);
    const auto at_least_code = [&](int least) {
        return _mm512_cmpge_epu32_mask(codes, _mm512_set1_epi32(least));
    };
    const __mmask16 two = at_least_code(0x80);
    const __mmask16 three = at_least_code(0x800);
    __m512i bytes =
        _mm512_mask_mov_epi32(codes, two, spread_bits(codes, 0x00000006, 0x00003F1F, 0x000080C0));
    __m512i keep = _mm512_mask_mov_epi32(_mm512_set1_epi32(0x80), two, _mm512_set1_epi32(0x8080));
    const __m512i high = _mm512_and_si512(codes, _mm512_set1_epi32(~0x7FF));
    if (_mm512_cmpeq_epi32_mask(high, _mm512_set1_epi32(0xD800)) != 0) {
        return 0;
    }
    bytes =
        _mm512_mask_mov_epi32(bytes, three, spread_bits(codes, 0x0000060C, 0x003F3F0F, 0x008080E0));
    keep = _mm512_mask_mov_epi32(keep, three, _mm512_set1_epi32(0x808080));
    if constexpr (sizeof(Unit) > 2) {
        const __mmask16 four = at_least_code(0x10000);
        bytes = _mm512_mask_mov_epi32(bytes, four,
                                      spread_bits(codes, 0x00060C12, 0x3F3F3F07, 0x808080F0));
        keep = _mm512_mask_mov_epi32(keep, four, _mm512_set1_epi32(static_cast<int>(0x80808080)));
    }
    return store_kept(out, _mm512_movepi8_mask(keep), bytes);
}
