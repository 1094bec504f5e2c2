// What is known of the three-byte characters of a block, eight at once. Text inside a target's
// namespace; chars3_scalar-inl.h has the meaning.

constexpr std::ptrdiff_t kReadableBlock = 96;  // of a block: load3_x8 reads 28 from a first byte

// Bytes of eight characters, one a lane: `count` of them at the given places. The remaining lanes
// are ignored.
inline __m256i load3_x8(const std::uint8_t* bytes, const std::uint8_t* place,
                        unsigned count) noexcept {
    if (place[count - 1] - place[0] == static_cast<int>(3 * (count - 1))) {  // side by side
        const std::uint8_t* at = bytes + place[0];
        const __m256i both = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))),
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 12)), 1);
        const __m256i pick = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,
                                              0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
        return _mm256_shuffle_epi8(both, pick);
    }
    const __m256i places =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(place)));
    return _mm256_i32gather_epi32(reinterpret_cast<const int*>(bytes), places, 1);
}

// Eight characters: 1110aaaa 10bbbbbb 10cccccc -> aaaabbbbbbcccccc.
inline __m256i decode3_x8(__m256i raw) noexcept {
    const __m256i parts = _mm256_and_si256(raw, _mm256_set1_epi32(0x003F3F0F));
    const __m256i two =
        _mm256_maddubs_epi16(parts, _mm256_set1_epi32(0x00010140));  // a * 64 + b, c
    return _mm256_madd_epi16(two, _mm256_set1_epi32(0x00010040));    // * 64 + c
}

// Lane i of the result is lane i - 1 of `now`, and lane 0 the last lane of `before`.
inline __m256i shift_in(__m256i now, __m256i before) noexcept {
    const __m256i turn = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(now, turn),
                              _mm256_permutevar8x32_epi32(before, turn), 1);
}

inline std::uint64_t sign_lanes(__m256i lanes) noexcept {
    return static_cast<std::uint64_t>(
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes))));
}

// JunctionFilter::paired for eight pairs: one word of the filter holds both bits of a pair.
template <typename Junctions>
inline std::uint64_t paired_lanes(__m256i left, __m256i right,
                                  const Junctions& junctions) noexcept {
    const __m256i pair = _mm256_or_si256(_mm256_slli_epi32(left, 16), right);
    const __m256i word_at = _mm256_srli_epi32(
        _mm256_mullo_epi32(pair, _mm256_set1_epi32(static_cast<int>(Junctions::kWordFactor))),
        32 - Junctions::kWordBits);
    const __m256i bits = _mm256_srli_epi32(
        _mm256_mullo_epi32(pair, _mm256_set1_epi32(static_cast<int>(Junctions::kBitFactor))), 22);
    const __m256i word =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(junctions.words), word_at, 4);
    const __m256i first = _mm256_srlv_epi32(word, _mm256_and_si256(bits, _mm256_set1_epi32(31)));
    const __m256i second = _mm256_srlv_epi32(word, _mm256_srli_epi32(bits, 5));
    return sign_lanes(_mm256_slli_epi32(_mm256_and_si256(first, second), 31));
}

// Lane i is character g + i; its left neighbour comes from the lane before, or from the last group.
template <bool kDoubtFirst, typename Junctions>
inline Chars3 look_up_chars3(const std::uint8_t* bytes, std::uint64_t leads, std::uint32_t previous,
                             const std::uint8_t* facts, const Junctions& junctions) noexcept {
    alignas(32) std::uint8_t place[32];
    unsigned count = 0;
    for (std::uint64_t rest = leads; rest != 0; rest &= rest - 1) {
        place[count++] = static_cast<std::uint8_t>(trailing_zeros(rest));
    }
    std::memset(place + count, 0, 8);  // a block has at most 21 such characters
    const __m256i zero = _mm256_setzero_si256();
    __m256i code_before = _mm256_set1_epi32(static_cast<int>(previous));
    __m256i fact_before = _mm256_set1_epi32(facts[previous]);
    Chars3 lanes;
    for (unsigned g = 0; g < count; g += 8) {
        const __m256i code = decode3_x8(load3_x8(bytes, place + g, count - g < 8 ? count - g : 8));
        const __m256i fact =
            _mm256_and_si256(_mm256_i32gather_epi32(reinterpret_cast<const int*>(facts), code, 1),
                             _mm256_set1_epi32(0xFF));
        const __m256i left_code = shift_in(code, code_before);
        const __m256i left_fact = shift_in(fact, fact_before);
        const __m256i left_side = _mm256_and_si256(
            _mm256_srli_epi32(left_fact, split::kFactLeftShift), _mm256_set1_epi32(7));
        const __m256i doubt =
            _mm256_and_si256(left_side, _mm256_srli_epi32(fact, split::kFactRightShift));
        const std::uint64_t in_doubt = sign_lanes(_mm256_cmpgt_epi32(doubt, zero));
        lanes.letter |= sign_lanes(_mm256_slli_epi32(fact, 31)) << g;
        lanes.unusual |= sign_lanes(_mm256_slli_epi32(fact, 30)) << g;
        lanes.in_doubt |= in_doubt << g;
        code_before = code;
        fact_before = fact;
        if (kDoubtFirst && in_doubt == 0) {
            continue;
        }
        lanes.paired |= paired_lanes(left_code, code, junctions) << g;
    }
    // From bit i for character i to the bits of the first bytes.
    return {_pdep_u64(lanes.letter, leads), _pdep_u64(lanes.unusual, leads),
            _pdep_u64(lanes.paired, leads), _pdep_u64(lanes.in_doubt, leads),
            decode3(bytes + top_bit(leads))};
}
