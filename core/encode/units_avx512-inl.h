// encode: ends of units in a block -> units of the batch, eight at a time: their keys are picked
// out of the block in a register. Text inside a target's namespace, after units-inl.h. See
// append-inl.h for the meaning.

alignas(64) constexpr std::uint8_t kIota[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
alignas(64) constexpr std::uint8_t kEighths[64] = {
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7};

constexpr std::uint64_t kAllBytes = ~std::uint64_t{0};

// The units that start and end inside a block, as places and sizes in bytes: unit j in byte j.
struct InnerUnits {
    __m512i text;  // the block
    __m512i starts;
    __m512i sizes;
    __m512i short_sizes;  // 0 where the size is more than 8
    __m512i base;         // address of the block << 16, in every lane
};

// Units g to g + 7, a 64-bit lane for each; bit j of `cuts` says that unit g + j starts at a cut,
// and bit j + 1 that it ends at one.
//
//   which    g g g g g g g g  g+1 ...        which unit a byte of the lanes belongs to
//   in_word  0 1 2 3 4 5 6 7  0 1 ...        which byte of the unit it is
//   key      text[start + in_word], 0 after the end of the unit, all 0 if it is longer than 8
//   place    size, 0, start, 0, 0 ...        added to the address: address << 16 | size
template <bool kCuts>
TOKENMILL_INLINE void append_eight(UnitWriter& to, const InnerUnits& units, unsigned g,
                                   std::uint64_t cuts) noexcept {
    const __m512i in_word = _mm512_and_si512(_mm512_load_si512(kIota), _mm512_set1_epi8(7));
    const __m512i which =
        _mm512_add_epi8(_mm512_load_si512(kEighths), _mm512_set1_epi8(static_cast<char>(g)));
    const __m512i from =
        _mm512_add_epi8(_mm512_maskz_permutexvar_epi8(kAllBytes, which, units.starts), in_word);
    const __m512i size = _mm512_maskz_permutexvar_epi8(kAllBytes, which, units.short_sizes);
    const __m512i key =
        _mm512_maskz_permutexvar_epi8(_mm512_cmplt_epu8_mask(in_word, size), from, units.text);
    const __m512i hash =
        _mm512_mullo_epi64(key, _mm512_set1_epi64(static_cast<long long>(kGolden)));
    const __m512i line = _mm512_and_si512(
        _mm512_maskz_srlv_epi64(255, hash, _mm512_set1_epi64(static_cast<long long>(to.shift))),
        _mm512_set1_epi64(static_cast<long long>(encode::Line8::kFirstByte)));
    constexpr std::uint64_t kSizeAndStart = 0x0505050505050505ULL;       // bytes 0 and 2 of a lane
    const __m512i pick = _mm512_or_si512(which, _mm512_set1_epi64(64));  // byte 0: from `sizes`
    const __m512i place =
        _mm512_maskz_permutex2var_epi8(kSizeAndStart, units.starts, pick, units.sizes);
    __m512i unit = _mm512_add_epi64(units.base, place);
    if constexpr (kCuts) {
        const __m512i flags = _mm512_or_si512(
            _mm512_maskz_set1_epi64(static_cast<__mmask8>(cuts), encode::kCutStart),
            _mm512_maskz_set1_epi64(static_cast<__mmask8>(cuts >> 1), encode::kCutEnd));
        unit = _mm512_or_si512(unit, flags);
    }
    _mm512_storeu_si512(to.e.key + to.n + g, key);
    _mm512_storeu_si512(to.e.unit + to.n + g, unit);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.e.line + to.n + g),
                        _mm512_maskz_cvtepi64_epi32(255, line));
}

// The units between the ends; `cuts` has the bits of those that are cuts.
//
//   text    t h e _ q u i c k _ f        starts  0 3 9        compress(ends, 0 1 2 ...)
//   ends    1 0 0 1 0 0 0 0 0 1 0        stops   3 9          starts moved down by one
//                                        sizes   3 6          stops - starts
//
// Sixteen are written without a test: few blocks have more, and a number that is not needed is
// overwritten by the next block.
template <bool kCuts>
TOKENMILL_INLINE void append_inner(UnitWriter& to, const std::uint8_t* at, std::uint64_t ends,
                                   std::uint64_t cuts) noexcept {
    const unsigned count = count_bits(ends) - 1;
    const __m512i iota = _mm512_load_si512(kIota);
    const __m512i starts = _mm512_maskz_compress_epi8(ends, iota);
    const __m512i stops = _mm512_maskz_permutexvar_epi8(
        kAllBytes, _mm512_add_epi8(iota, _mm512_set1_epi8(1)), starts);
    const __m512i sizes = _mm512_sub_epi8(stops, starts);
    const std::uint64_t is_long = _mm512_cmpgt_epu8_mask(sizes, _mm512_set1_epi8(8));
    const InnerUnits units = {
        _mm512_loadu_si512(at), starts, sizes, _mm512_maskz_mov_epi8(~is_long, sizes),
        _mm512_set1_epi64(static_cast<long long>(encode::make_unit(at, 0, 0)))};
    const std::uint64_t cut_at = kCuts ? _pext_u64(cuts, ends) : 0;  // bit j: end j is a cut
    append_eight<kCuts>(to, units, 0, cut_at);
    append_eight<kCuts>(to, units, 8, cut_at >> 8);
    for (unsigned g = 16; g < count; g += 8) {
        append_eight<kCuts>(to, units, g, cut_at >> g);
    }
    // Eight places are enough for the longer ones: each has nine bytes or more of the block.
    const std::uint64_t longer = is_long & low_bits(count);
    const __m128i which =
        _mm512_maskz_extracti32x4_epi32(15, _mm512_maskz_compress_epi8(longer, iota), 0);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to.e.longer + to.n_longer),
        _mm_add_epi16(_mm_cvtepu8_epi16(which), _mm_set1_epi16(static_cast<short>(to.n))));
    to.n_longer += count_bits(longer);
    to.n += count;
}
