// encode: ends of units in a block -> units of the batch, eight at a time: their keys are picked
// out of the block in a register. Text inside a target's namespace, after units-inl.h. See
// units_scalar-inl.h for the meaning.

alignas(64) constexpr std::uint8_t kIota[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
alignas(64) constexpr std::uint8_t kEighths[64] = {
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7};

inline __m512i widen_eight(const std::uint8_t* eight) noexcept {
    return _mm512_maskz_cvtepu8_epi64(255,
                                      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight)));
}

// The units that start and end inside a block, as places and sizes in bytes: unit j in byte j.
struct InnerUnits {
    const std::uint8_t* at;  // the block
    __m512i text;            // its bytes
    __m512i starts;
    __m512i sizes;
    alignas(64) std::uint8_t start[64];  // the same in memory
    alignas(64) std::uint8_t size[64];
    std::uint64_t cuts;  // bit j: unit j starts at a cut, bit j + 1: it ends at one
};

// Units g to g + 7, a 64-bit lane for each:
//
//   which    g g g g g g g g  g+1 ...        which unit a byte of the lanes belongs to
//   in_word  0 1 2 3 4 5 6 7  0 1 ...        which byte of the unit it is
//   key      text[start + in_word], 0 after the end of the unit, all 0 if it is longer than 8
//   unit     address << 16 | cut flags | size
inline void append_eight(UnitWriter& to, const InnerUnits& units, unsigned g) noexcept {
    constexpr std::uint64_t kAllBytes = ~std::uint64_t{0};
    const __m512i iota = _mm512_load_si512(kIota);
    const __m512i in_word = _mm512_and_si512(iota, _mm512_set1_epi8(7));
    const __m512i which =
        _mm512_add_epi8(_mm512_load_si512(kEighths), _mm512_set1_epi8(static_cast<char>(g)));
    const __m512i my_start = _mm512_maskz_permutexvar_epi8(kAllBytes, which, units.starts);
    const __m512i my_size = _mm512_maskz_permutexvar_epi8(kAllBytes, which, units.sizes);
    const std::uint64_t inside = _mm512_cmplt_epu8_mask(in_word, my_size) &
                                 _mm512_cmple_epu8_mask(my_size, _mm512_set1_epi8(8));
    const __m512i key =
        _mm512_maskz_permutexvar_epi8(inside, _mm512_add_epi8(my_start, in_word), units.text);
    const __m512i hash =
        _mm512_mullo_epi64(key, _mm512_set1_epi64(static_cast<long long>(kGolden)));
    const __m512i line =
        _mm512_maskz_srlv_epi64(255, hash, _mm512_set1_epi64(static_cast<long long>(to.shift)));
    const __m512i begin = _mm512_add_epi64(
        widen_eight(units.start + g),
        _mm512_set1_epi64(static_cast<long long>(reinterpret_cast<std::uintptr_t>(units.at))));
    const __m512i unit =
        _mm512_or_si512(_mm512_maskz_slli_epi64(255, begin, 16), widen_eight(units.size + g));
    const std::uint64_t cuts = units.cuts >> g;
    const __m512i flags =
        _mm512_or_si512(_mm512_maskz_set1_epi64(static_cast<__mmask8>(cuts), encode::kCutStart),
                        _mm512_maskz_set1_epi64(static_cast<__mmask8>(cuts >> 1), encode::kCutEnd));
    _mm512_storeu_si512(to.e.key + to.n + g, key);
    _mm512_storeu_si512(to.e.unit + to.n + g, _mm512_or_si512(unit, flags));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.e.line + to.n + g),
                        _mm512_maskz_cvtepi64_epi32(255, line));
}

// The units between the ends; bit j of `cuts` is set if end j is a cut.
//
//   text    t h e _ q u i c k _ f        starts  0 3 9        compress(ends, 0 1 2 ...)
//   ends    1 0 0 1 0 0 0 0 0 1 0        stops   3 9          starts moved down by one
//                                        sizes   3 6          stops - starts
inline void append_inner(UnitWriter& to, const std::uint8_t* at, std::uint64_t ends,
                         std::uint64_t cuts) noexcept {
    const unsigned count = count_bits(ends) - 1;
    const __m512i iota = _mm512_load_si512(kIota);
    InnerUnits units;
    units.at = at;
    units.text = _mm512_loadu_si512(at);
    units.starts = _mm512_maskz_compress_epi8(ends, iota);
    const __m512i stops = _mm512_maskz_permutexvar_epi8(
        ~std::uint64_t{0}, _mm512_add_epi8(iota, _mm512_set1_epi8(1)), units.starts);
    units.sizes = _mm512_sub_epi8(stops, units.starts);
    units.cuts = cuts;
    _mm512_store_si512(units.start, units.starts);
    _mm512_store_si512(units.size, units.sizes);
    for (unsigned g = 0; g < count; g += 8) {
        append_eight(to, units, g);
    }
    std::uint64_t longer =
        _mm512_cmpgt_epu8_mask(units.sizes, _mm512_set1_epi8(8)) & low_bits(count);
    for (; longer != 0; longer &= longer - 1) {
        to.e.longer[to.n_longer++] = static_cast<std::uint16_t>(to.n + trailing_zeros(longer));
    }
    to.n += count;
}

// The first unit may start before the block; all others start and end inside of it.
inline void append_block(encode::WordEncoder& e, const std::uint8_t* at, std::uint64_t ends,
                         std::uint64_t cuts, const std::uint8_t*& unit,
                         std::uint64_t& cut_start) noexcept {
    if (ends == 0) {
        return;
    }
    UnitWriter to(e);
    const unsigned first = trailing_zeros(ends);
    to.append(unit, static_cast<std::uint64_t>(at + first - unit),
              cut_start | (cuts >> first & 1) * encode::kCutEnd, load<std::uint64_t>(unit));
    const unsigned last = top_bit(ends);
    append_inner(to, at, ends, _pext_u64(cuts, ends));
    cut_start = (cuts >> last & 1) * encode::kCutStart;
    unit = at + last;
}
