// What is known of the three-byte characters of a block, sixteen at once. Text inside a target's
// namespace; chars3_scalar-inl.h has the meaning.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// The masked forms throughout: GCC 12 takes the others for uses of uninitialised values.
constexpr __mmask16 kAll = 0xFFFF;
inline __m512i shift_right(__m512i lanes, unsigned count) noexcept {
    return _mm512_maskz_srli_epi32(kAll, lanes, count);
}
inline __m512i shift_right(__m512i lanes, __m512i counts) noexcept {
    return _mm512_maskz_srlv_epi32(kAll, lanes, counts);
}
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

// JunctionFilter::paired for sixteen pairs, in bit 0 of each lane: one word of the filter holds
// both bits of a pair.
template <typename Junctions>
inline __m512i paired_lanes(__m512i left, __m512i right, const Junctions& junctions) noexcept {
    const __m512i pair = _mm512_or_si512(_mm512_maskz_slli_epi32(kAll, left, 16), right);
    const __m512i word_at = shift_right(
        _mm512_mullo_epi32(pair, _mm512_set1_epi32(static_cast<int>(Junctions::kWordFactor))),
        32 - Junctions::kWordBits);
    const __m512i bits = shift_right(
        _mm512_mullo_epi32(pair, _mm512_set1_epi32(static_cast<int>(Junctions::kBitFactor))), 22);
    const __m512i word =
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), kAll, word_at, junctions.words, 4);
    const __m512i one = shift_right(word, _mm512_and_si512(bits, _mm512_set1_epi32(31)));
    const __m512i two = shift_right(word, shift_right(bits, 5));
    return _mm512_and_si512(one, two);
}

// Lane i is character g + i; its left neighbour comes from the lane before, or from the last group.
template <bool kDoubtFirst, typename Junctions>
inline Chars3 look_up_chars3(const std::uint8_t* bytes, std::uint64_t leads, std::uint32_t previous,
                             const std::uint8_t* facts, const Junctions& junctions) noexcept {
    const __m512i six = _mm512_set1_epi16(63);
    const __m512i first = _mm512_maskz_slli_epi16(~0U, byte_of_chars(bytes, leads), 12);
    const __m512i second =
        _mm512_maskz_slli_epi16(~0U, _mm512_and_si512(byte_of_chars(bytes + 1, leads), six), 6);
    const __m512i third = _mm512_and_si512(byte_of_chars(bytes + 2, leads), six);
    const __m512i codes = _mm512_or_si512(first, _mm512_or_si512(second, third));
    const unsigned count = count_bits(leads);  // at most 21
    const __m512i zero = _mm512_setzero_si512();
    __m512i code_before = _mm512_set1_epi32(static_cast<int>(previous));
    __m512i fact_before = _mm512_set1_epi32(facts[previous]);
    Chars3 lanes;
    for (unsigned g = 0; g < count; g += 16) {
        const __m512i code =
            _mm512_maskz_cvtepu16_epi32(kAll, g == 0 ? half_of<0>(codes) : half_of<1>(codes));
        const __m512i fact = _mm512_and_si512(
            _mm512_mask_i32gather_epi32(zero, kAll, code, facts, 1), _mm512_set1_epi32(0xFF));
        const __m512i left_code = _mm512_maskz_alignr_epi32(kAll, code, code_before, 15);
        const __m512i left_fact = _mm512_maskz_alignr_epi32(kAll, fact, fact_before, 15);
        const auto lanes_with = [&](__m512i values, int mask) {
            return static_cast<std::uint64_t>(
                       _mm512_test_epi32_mask(values, _mm512_set1_epi32(mask)))
                   << g;
        };
        const std::uint64_t in_doubt =
            lanes_with(_mm512_and_si512(shift_right(left_fact, split::kFactLeftShift),
                                        shift_right(fact, split::kFactRightShift)),
                       7);
        lanes.letter |= lanes_with(fact, static_cast<int>(split::kFactLetter));
        lanes.unusual |= lanes_with(fact, static_cast<int>(split::kFactUnusual));
        lanes.in_doubt |= in_doubt;
        code_before = code;
        fact_before = fact;
        if (kDoubtFirst && in_doubt == 0) {
            continue;
        }
        lanes.paired |= lanes_with(paired_lanes(left_code, code, junctions), 1);
    }
    // From bit i for character i to the bits of the first bytes.
    return {_pdep_u64(lanes.letter, leads), _pdep_u64(lanes.unusual, leads),
            _pdep_u64(lanes.paired, leads), _pdep_u64(lanes.in_doubt, leads),
            decode3(bytes + top_bit(leads))};
}
