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

alignas(64) constexpr std::uint8_t kQuarters[64] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};

constexpr std::uint64_t kAllBytes = ~std::uint64_t{0};

// The units that end in a block, as places and sizes in bytes: unit j in byte j. Places count from
// 64 bytes before the block, so that the first unit, which may start before it, has one, too.
struct BlockUnits {
    __m512i open_text;  // from the start of the first unit on
    __m512i text;       // the block
    __m512i from;       // where the text of a unit is: below 64 in `open_text`, else in `text`
    __m512i starts;
    __m512i sizes;
    __m512i short_sizes;  // 0 where the size is more than 8
    __m512i base;         // address of 64 bytes before the block << 16, in every lane
    __m512i shift;        // of a hash, to the first byte of its line
    std::uint32_t n;      // unit 0 is so many in the batch
};

// Bytes of text at places as those of BlockUnits::from, 0 where `is_kept` has no bit.
TOKENMILL_INLINE __m512i pick_text(const BlockUnits& units, std::uint64_t is_kept,
                                   __m512i places) noexcept {
    return _mm512_maskz_permutex2var_epi8(is_kept, units.open_text, places, units.text);
}

// Units g to g + 7, a 64-bit lane for each. Bit j of `cut_starts` says that unit g + j starts at a
// cut, bit j of `cut_ends` that it ends at one.
//
//   which    g g g g g g g g  g+1 ...        which unit a byte of the lanes belongs to
//   in_word  0 1 2 3 4 5 6 7  0 1 ...        which byte of the unit it is
//   key      text[from + in_word], 0 after the end of the unit, all 0 if it is longer than 8
//   place    size, 0, start, 0, 0 ...        added to the address: address << 16 | size
template <bool kCuts>
TOKENMILL_INLINE void append_eight(encode::WordEncoder& e, const BlockUnits& units, unsigned g,
                                   std::uint64_t cut_starts, std::uint64_t cut_ends) noexcept {
    const __m512i in_word = _mm512_and_si512(_mm512_load_si512(kIota), _mm512_set1_epi8(7));
    const __m512i which =
        _mm512_add_epi8(_mm512_load_si512(kEighths), _mm512_set1_epi8(static_cast<char>(g)));
    const __m512i from =
        _mm512_add_epi8(_mm512_maskz_permutexvar_epi8(kAllBytes, which, units.from), in_word);
    const __m512i size = _mm512_maskz_permutexvar_epi8(kAllBytes, which, units.short_sizes);
    const __m512i key = pick_text(units, _mm512_cmplt_epu8_mask(in_word, size), from);
    const __m512i hash =
        _mm512_mullo_epi64(key, _mm512_set1_epi64(static_cast<long long>(kGolden)));
    const __m512i line =
        _mm512_and_si512(_mm512_maskz_srlv_epi64(255, hash, units.shift),
                         _mm512_set1_epi64(static_cast<long long>(encode::Line8::kFirstByte)));
    constexpr std::uint64_t kSizeAndStart = 0x0505050505050505ULL;       // bytes 0 and 2 of a lane
    const __m512i pick = _mm512_or_si512(which, _mm512_set1_epi64(64));  // byte 0: from `sizes`
    const __m512i place =
        _mm512_maskz_permutex2var_epi8(kSizeAndStart, units.starts, pick, units.sizes);
    __m512i unit = _mm512_add_epi64(units.base, place);
    if constexpr (kCuts) {
        const __m512i flags = _mm512_or_si512(
            _mm512_maskz_set1_epi64(static_cast<__mmask8>(cut_starts >> g), encode::kCutStart),
            _mm512_maskz_set1_epi64(static_cast<__mmask8>(cut_ends >> g), encode::kCutEnd));
        unit = _mm512_or_si512(unit, flags);
    }
    _mm512_storeu_si512(e.key + units.n + g, key);
    _mm512_storeu_si512(e.unit + units.n + g, unit);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(e.line + units.n + g),
                        _mm512_maskz_cvtepi64_epi32(255, line));
}

// Keys and lines of four units of 9 to 16 bytes, two 64-bit lanes for each: those numbered in bytes
// g to g + 3 of `which`. The hash is hash_pair, whose halves are two lanes here.
TOKENMILL_INLINE void append_four16(encode::WordEncoder& e, std::uint32_t n16,
                                    const BlockUnits& units, __m512i numbers, unsigned g) noexcept {
    const __m512i in_word = _mm512_and_si512(_mm512_load_si512(kIota), _mm512_set1_epi8(15));
    const __m512i which = _mm512_maskz_permutexvar_epi8(
        kAllBytes,
        _mm512_add_epi8(_mm512_load_si512(kQuarters), _mm512_set1_epi8(static_cast<char>(g))),
        numbers);
    const __m512i from =
        _mm512_add_epi8(_mm512_maskz_permutexvar_epi8(kAllBytes, which, units.from), in_word);
    const __m512i size = _mm512_maskz_permutexvar_epi8(kAllBytes, which, units.sizes);
    const __m512i key = pick_text(units, _mm512_cmplt_epu8_mask(in_word, size), from);
    constexpr auto kLow = static_cast<long long>(kGolden);
    constexpr auto kHigh = static_cast<long long>(kSecond);
    const __m512i halves = _mm512_mullo_epi64(
        key, _mm512_setr_epi64(kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh));
    const __m512i mixed = _mm512_xor_si512(halves, _mm512_maskz_srli_epi64(0x55, halves, 29));
    const __m512i both =
        _mm512_xor_si512(mixed, _mm512_maskz_shuffle_epi32(0xFFFF, mixed, _MM_PERM_BADC));
    const __m512i line = _mm512_maskz_srlv_epi64(
        255, _mm512_mullo_epi64(both, _mm512_set1_epi64(kLow)),
        _mm512_set1_epi64(static_cast<long long>(64 - e.tables.bits.words16)));
    const __m512i lines = _mm512_maskz_permutexvar_epi32(
        0xFFFF, _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12), line);
    encode::LongerUnits& longer = e.longer_units;
    _mm512_storeu_si512(longer.key16 + std::size_t{2} * (n16 + g), key);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(longer.line16 + n16 + g),
                     _mm512_maskz_extracti32x4_epi32(15, lines, 0));
}

// Eight places are enough: each of these units has nine bytes or more.
TOKENMILL_INLINE void store_numbers(__m512i numbers, std::uint32_t first,
                                    std::uint16_t* to) noexcept {
    const __m128i bytes = _mm512_maskz_extracti32x4_epi32(15, numbers, 0);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to),
        _mm_add_epi16(_mm_cvtepu8_epi16(bytes), _mm_set1_epi16(static_cast<short>(first))));
}

// Lists the units of more than eight bytes.
TOKENMILL_INLINE void append_longer(encode::WordEncoder& e, const BlockUnits& units,
                                    std::uint64_t is_unit) noexcept {
    encode::LongerUnits& longer = e.longer_units;
    const __m512i iota = _mm512_load_si512(kIota);
    const std::uint64_t is16 =
        is_unit & _mm512_cmplt_epu8_mask(_mm512_sub_epi8(units.sizes, _mm512_set1_epi8(9)),
                                         _mm512_set1_epi8(8));
    const std::uint64_t is_other =
        is_unit & _mm512_cmpgt_epu8_mask(units.sizes, _mm512_set1_epi8(16));
    const std::uint32_t n16 = longer.n16;
    const std::uint32_t n_others = longer.n_others;
    const unsigned count16 = count_bits(is16);
    const __m512i numbers = _mm512_maskz_compress_epi8(is16, iota);
    longer.n16 = n16 + count16;
    longer.n_others = n_others + count_bits(is_other);
    append_four16(e, n16, units, numbers, 0);
    if (unlikely(count16 > 4)) {
        append_four16(e, n16, units, numbers, 4);
    }
    store_numbers(numbers, units.n, longer.in16 + n16);
    store_numbers(_mm512_maskz_compress_epi8(is_other, iota), units.n, longer.others + n_others);
}

// The units that end at `ends`; `cuts` has the bits of those that are cuts.
//
//   text    t h e _ q u i c k _ f        stops   3 9          compress(ends, 0 1 2 ...)
//   ends    0 0 0 1 0 0 0 0 0 1 0        starts  0 3          stops moved up by one
//                                        sizes   3 6          stops - starts
//
// Sixteen are written without a test: few blocks have more, and a number that is not needed is
// overwritten by the next block.
template <bool kCuts>
TOKENMILL_INLINE void append_ends(encode::WordEncoder& e, const std::uint8_t* at,
                                  std::uint64_t ends, std::uint64_t cuts,
                                  const OpenUnit& open) noexcept {
    const unsigned count = count_bits(ends);
    const __m512i iota = _mm512_load_si512(kIota);
    const __m512i stops =
        _mm512_maskz_compress_epi8(ends, _mm512_or_si512(iota, _mm512_set1_epi8(64)));
    const __m512i from = _mm512_maskz_permutexvar_epi8(
        kAllBytes << 1, _mm512_sub_epi8(iota, _mm512_set1_epi8(1)), stops);
    const __m512i starts =
        _mm512_mask_set1_epi8(from, 1, static_cast<char>(64 - (at - open.begin)));
    const __m512i sizes = _mm512_sub_epi8(stops, starts);
    const BlockUnits units = {
        _mm512_loadu_si512(open.begin),
        _mm512_loadu_si512(at),
        from,
        starts,
        sizes,
        _mm512_maskz_mov_epi8(_mm512_cmple_epu8_mask(sizes, _mm512_set1_epi8(8)), sizes),
        _mm512_set1_epi64(static_cast<long long>(encode::make_unit(at - 64, 0, 0))),
        _mm512_set1_epi64(encode::Line8::shift_of(e.tables.bits.words8)),
        e.count};
    const std::uint64_t cut_ends = kCuts ? _pext_u64(cuts, ends) : 0;  // bit j: end j is a cut
    const std::uint64_t cut_starts = cut_ends << 1 | std::uint64_t{open.cut_start != 0};
    append_eight<kCuts>(e, units, 0, cut_starts, cut_ends);
    append_eight<kCuts>(e, units, 8, cut_starts, cut_ends);
    for (unsigned g = 16; g < count; g += 8) {
        append_eight<kCuts>(e, units, g, cut_starts, cut_ends);
    }
    append_longer(e, units, low_bits(count));
    e.count = units.n + count;
}
