// encode: the ranks of a word while it is merged, with AVX-512; see lanes_scalar-inl.h for the
// meaning. The masked forms throughout: GCC 12 takes the others for uses of uninitialised values.

constexpr __mmask16 kAllLanes = 0xFFFF;

template <unsigned kGroups>
class Lanes {
public:
    static Lanes of_ranks(const std::uint32_t* ranks) noexcept {
        Lanes lanes;
        for (unsigned v = 0; v < kGroups; ++v) {
            lanes.rank_[v] = _mm512_load_si512(ranks + std::size_t{16} * v);
        }
        return lanes;
    }
    [[nodiscard]] std::uint32_t least() const noexcept {
        __m512i m = rank_[0];
        for (unsigned v = 1; v < kGroups; ++v) {
            m = _mm512_maskz_min_epu32(kAllLanes, m, rank_[v]);
        }
        const __m256i half = _mm256_min_epu32(half_of<0>(m), half_of<1>(m));
        __m128i n = _mm_min_epu32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        n = _mm_min_epu32(n, _mm_shuffle_epi32(n, 0x4E));
        n = _mm_min_epu32(n, _mm_shuffle_epi32(n, 0xB1));
        return static_cast<std::uint32_t>(_mm_cvtsi128_si32(n));
    }
    void update(unsigned gone, unsigned before, std::uint32_t rank_before, unsigned at,
                std::uint32_t rank_at) noexcept {
        const std::uint64_t is_gone = std::uint64_t{1} << gone;
        const std::uint64_t is_before = (std::uint64_t{1} << (before & 63U)) &
                                        (std::uint64_t{0} - std::uint64_t{before != ~0U});
        const std::uint64_t is_at = std::uint64_t{1} << at;
        const __m512i none = _mm512_set1_epi32(-1);
        for (unsigned v = 0; v < kGroups; ++v) {
            __m512i r =
                _mm512_mask_mov_epi32(rank_[v], static_cast<__mmask16>(is_gone >> (16 * v)), none);
            r = _mm512_mask_set1_epi32(r, static_cast<__mmask16>(is_before >> (16 * v)),
                                       static_cast<int>(rank_before));
            rank_[v] = _mm512_mask_set1_epi32(r, static_cast<__mmask16>(is_at >> (16 * v)),
                                              static_cast<int>(rank_at));
        }
    }

private:
    static __m512i numbers(unsigned v) noexcept {
        const __m512i first =
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        return _mm512_add_epi32(first, _mm512_set1_epi32(static_cast<int>(16 * v)));
    }
    __m512i rank_[kGroups];
};

inline unsigned equal_slots(const std::uint64_t* line, std::uint64_t key) noexcept {
    const __m512i slots = _mm512_load_si512(line);
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(key));
    return _mm512_cmpeq_epi64_mask(_mm512_maskz_srli_epi64(255, slots, vocab::kIdBits), wanted);
}

// Without a loop over the bits, whose end no CPU foresees. What is written after the last symbol
// stays within the sixteen of its group.
template <unsigned kGroups>
inline unsigned pick_symbols(const Lanes<kGroups>& /*lanes*/, const std::uint32_t* symbols,
                             std::uint64_t places, std::uint32_t* out) noexcept {
    unsigned count = 0;
    for (unsigned v = 0; v < kGroups; ++v) {
        const auto is_picked = static_cast<__mmask16>(places >> (16 * v + 1));
        const __m512i group = _mm512_loadu_si512(symbols + std::size_t{16} * v + 1);
        _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32(is_picked, group));
        count += count_bits(is_picked);
    }
    return count;
}
