// What is known of the three-byte characters of a block, 24 at once. Text inside a target's
// namespace, after its decode_chars3; chars3_scalar-inl.h has the meaning.
//
// Tables are read by single loads into the lanes of a vector. A gather is as many loads, and takes
// two to four times as long on Zen 4.

// Lane i of the result is lane i - 1 of `now`, and lane 0 the last lane of `before`.
inline __m256i shift_in(__m256i now, __m256i before) noexcept {
    const __m256i turn = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(now, turn),
                              _mm256_permutevar8x32_epi32(before, turn), 1);
}

// facts[code[i]] in byte i of eight.
inline __m128i load_facts(const std::uint8_t* facts, const std::uint32_t* code) noexcept {
    __m128i found = _mm_cvtsi32_si128(facts[code[0]]);
    found = _mm_insert_epi8(found, facts[code[1]], 1);
    found = _mm_insert_epi8(found, facts[code[2]], 2);
    found = _mm_insert_epi8(found, facts[code[3]], 3);
    found = _mm_insert_epi8(found, facts[code[4]], 4);
    found = _mm_insert_epi8(found, facts[code[5]], 5);
    found = _mm_insert_epi8(found, facts[code[6]], 6);
    return _mm_insert_epi8(found, facts[code[7]], 7);
}

inline __m128i load_words4(const std::uint32_t* words, const std::uint32_t* at) noexcept {
    __m128i found = _mm_cvtsi32_si128(static_cast<int>(words[at[0]]));
    found = _mm_insert_epi32(found, static_cast<int>(words[at[1]]), 1);
    found = _mm_insert_epi32(found, static_cast<int>(words[at[2]]), 2);
    return _mm_insert_epi32(found, static_cast<int>(words[at[3]]), 3);
}

// JunctionFilter::paired for eight pairs: one word of the filter holds both bits of a pair.
template <typename Junctions>
inline std::uint64_t paired_lanes(__m256i left, __m256i right,
                                  const Junctions& junctions) noexcept {
    const __m256i pair = _mm256_or_si256(_mm256_slli_epi32(left, 16), right);
    alignas(32) std::uint32_t word_at[8];
    _mm256_store_si256(
        reinterpret_cast<__m256i*>(word_at),
        _mm256_srli_epi32(
            _mm256_mullo_epi32(pair, _mm256_set1_epi32(static_cast<int>(Junctions::kWordFactor))),
            32 - Junctions::kWordBits));
    const __m256i bits = _mm256_srli_epi32(
        _mm256_mullo_epi32(pair, _mm256_set1_epi32(static_cast<int>(Junctions::kBitFactor))), 22);
    const __m256i word =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_words4(junctions.words, word_at)),
                                load_words4(junctions.words, word_at + 4), 1);
    const __m256i first = _mm256_srlv_epi32(word, _mm256_and_si256(bits, _mm256_set1_epi32(31)));
    const __m256i second = _mm256_srlv_epi32(word, _mm256_srli_epi32(bits, 5));
    const __m256i both = _mm256_slli_epi32(_mm256_and_si256(first, second), 31);
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(both)));
}

// Bit i is about character i. Characters past the last one are anything.
struct FactMasks {
    // Byte i of `facts` is what is known of character i, `before` of the one before them all.
    FactMasks(__m256i facts, std::uint8_t before) noexcept {
        const __m256i lane_before =
            _mm256_permute2x128_si256(_mm256_set1_epi8(static_cast<char>(before)), facts, 0x21);
        const __m256i left = _mm256_alignr_epi8(facts, lane_before, 15);
        const __m256i contexts =
            _mm256_and_si256(_mm256_and_si256(_mm256_srli_epi16(left, split::kFactLeftShift),
                                              _mm256_srli_epi16(facts, split::kFactRightShift)),
                             _mm256_set1_epi8(7));
        const __m256i is_sure = _mm256_cmpeq_epi8(contexts, _mm256_setzero_si256());
        letter = mask_of_signs(_mm256_slli_epi16(facts, 7));
        unusual = mask_of_signs(_mm256_slli_epi16(facts, 6));
        in_doubt = static_cast<std::uint32_t>(~mask_of_signs(is_sure));
    }

    static std::uint64_t mask_of_signs(__m256i bytes) noexcept {
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
    }

    std::uint64_t letter;
    std::uint64_t unusual;
    std::uint64_t in_doubt;
};

template <bool kDoubtFirst, unsigned kGroups, typename Junctions>
TOKENMILL_INLINE Chars3 look_up_groups(const std::uint8_t* bytes, std::uint64_t leads,
                                       std::uint32_t previous, const std::uint8_t* facts,
                                       const Junctions& junctions) noexcept {
    __m256i codes[kGroups];
    decode_chars3<kGroups>(bytes, leads, codes);
    alignas(32) std::uint32_t code[8 * kGroups];
    __m128i found[3] = {};
    for (unsigned g = 0; g < kGroups; ++g) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(code + std::size_t{8} * g), codes[g]);
    }
    for (unsigned g = 0; g < kGroups; ++g) {
        found[g] = load_facts(facts, code + std::size_t{8} * g);
    }
    const FactMasks known(
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(found[0], found[1])),
                                found[2], 1),
        facts[previous]);
    std::uint64_t paired = 0;
    if (!kDoubtFirst || known.in_doubt != 0) {
        __m256i before = _mm256_set1_epi32(static_cast<int>(previous));
        for (unsigned g = 0; g < kGroups; ++g) {
            paired |= paired_lanes(shift_in(codes[g], before), codes[g], junctions) << 8 * g;
            before = codes[g];
        }
    }
    // From bit i for character i to the bits of the first bytes.
    return {_pdep_u64(known.letter, leads), _pdep_u64(known.unusual, leads),
            _pdep_u64(paired, leads), _pdep_u64(known.in_doubt, leads),
            decode3(bytes + top_bit(leads))};
}

template <bool kDoubtFirst, typename Junctions>
inline Chars3 look_up_chars3(const std::uint8_t* bytes, std::uint64_t leads, std::uint32_t previous,
                             const std::uint8_t* facts, const Junctions& junctions) noexcept {
    // Few or many: more kinds would be jumps that are guessed wrongly.
    if (count_bits(leads) <= 8) {
        return look_up_groups<kDoubtFirst, 1>(bytes, leads, previous, facts, junctions);
    }
    return look_up_groups<kDoubtFirst, 3>(bytes, leads, previous, facts, junctions);
}
