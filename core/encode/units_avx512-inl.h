// The units of a block into the batch, eight keys at a time out of the block in a register. Text
// inside a target's namespace, behind units-inl.h; units_scalar-inl.h does it one at a time.

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

inline void append_eight(UnitWriter& to, const std::uint8_t* at, __m512i text, __m512i starts,
                         __m512i sizes, const std::uint8_t* start, const std::uint8_t* size,
                         unsigned g, std::uint64_t cut_at) noexcept {
    constexpr std::uint64_t kAllBytes = ~std::uint64_t{0};
    const __m512i iota = _mm512_load_si512(kIota);
    const __m512i in_word = _mm512_and_si512(iota, _mm512_set1_epi8(7));
    const __m512i which =
        _mm512_add_epi8(_mm512_load_si512(kEighths), _mm512_set1_epi8(static_cast<char>(g)));
    const __m512i my_start = _mm512_maskz_permutexvar_epi8(kAllBytes, which, starts);
    const __m512i my_size = _mm512_maskz_permutexvar_epi8(kAllBytes, which, sizes);
    const std::uint64_t inside = _mm512_cmplt_epu8_mask(in_word, my_size) &
                                 _mm512_cmple_epu8_mask(my_size, _mm512_set1_epi8(8));
    const __m512i key =
        _mm512_maskz_permutexvar_epi8(inside, _mm512_add_epi8(my_start, in_word), text);
    const __m512i hash =
        _mm512_mullo_epi64(key, _mm512_set1_epi64(static_cast<long long>(kGolden)));
    const __m512i line =
        _mm512_maskz_srlv_epi64(255, hash, _mm512_set1_epi64(static_cast<long long>(to.shift)));
    const __m512i begin = _mm512_add_epi64(
        widen_eight(start),
        _mm512_set1_epi64(static_cast<long long>(reinterpret_cast<std::uintptr_t>(at))));
    const __m512i unit =
        _mm512_or_si512(_mm512_maskz_slli_epi64(255, begin, 16), widen_eight(size));
    const __m512i flags = _mm512_or_si512(
        _mm512_maskz_set1_epi64(static_cast<__mmask8>(cut_at), encode::kCutStart),
        _mm512_maskz_set1_epi64(static_cast<__mmask8>(cut_at >> 1), encode::kCutEnd));
    _mm512_storeu_si512(to.e.key + to.n + g, key);
    _mm512_storeu_si512(to.e.unit + to.n + g, _mm512_or_si512(unit, flags));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.e.line + to.n + g),
                        _mm512_maskz_cvtepi64_epi32(255, line));
}

// The units between the ends; bit j of `cut_at` says that end j is a cut.
inline void append_inner(UnitWriter& to, const std::uint8_t* at, std::uint64_t ends,
                         std::uint64_t cut_at) noexcept {
    const unsigned count = count_bits(ends) - 1;
    const __m512i iota = _mm512_load_si512(kIota);
    const __m512i text = _mm512_loadu_si512(at);
    const __m512i starts = _mm512_maskz_compress_epi8(ends, iota);
    const __m512i stops = _mm512_maskz_permutexvar_epi8(
        ~std::uint64_t{0}, _mm512_add_epi8(iota, _mm512_set1_epi8(1)), starts);
    const __m512i sizes = _mm512_sub_epi8(stops, starts);
    alignas(64) std::uint8_t start[64];
    alignas(64) std::uint8_t size[64];
    _mm512_store_si512(start, starts);
    _mm512_store_si512(size, sizes);
    for (unsigned g = 0; g < count; g += 8) {
        append_eight(to, at, text, starts, sizes, start + g, size + g, g, cut_at >> g);
    }
    std::uint64_t longer = _mm512_cmpgt_epu8_mask(sizes, _mm512_set1_epi8(8)) & low_bits(count);
    for (; longer != 0; longer &= longer - 1) {
        to.e.longer[to.n_longer++] = static_cast<std::uint16_t>(to.n + trailing_zeros(longer));
    }
    to.n += count;
}

// All units at once: those behind the first one start and end inside the block, so that their bytes
// are picked out of one register.
// See units_scalar-inl.h.
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
