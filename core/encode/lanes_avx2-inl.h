// encode: the ranks of a word while it is merged, with AVX2; see lanes_scalar-inl.h for the
// meaning. They stay in registers: a lane written to memory and read back as a vector would wait
// for the store.

template <unsigned kGroups>
class Lanes {
public:
    static Lanes of_ranks(const std::uint32_t* ranks) noexcept {
        Lanes lanes;
        for (unsigned v = 0; v < kVectors; ++v) {
            lanes.rank_[v] = _mm256_load_si256(reinterpret_cast<const __m256i*>(ranks) + v);
        }
        return lanes;
    }
    [[nodiscard]] std::uint32_t least() const noexcept {
        __m256i m = rank_[0];
        for (unsigned v = 1; v < kVectors; ++v) {
            m = _mm256_min_epu32(m, rank_[v]);
        }
        __m128i n = _mm_min_epu32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
        n = _mm_min_epu32(n, _mm_shuffle_epi32(n, 0x4E));
        n = _mm_min_epu32(n, _mm_shuffle_epi32(n, 0xB1));
        return static_cast<std::uint32_t>(_mm_cvtsi128_si32(n));
    }
    void update(unsigned gone, unsigned before, std::uint32_t rank_before, unsigned at,
                std::uint32_t rank_at) noexcept {
        const __m256i all_gone = _mm256_set1_epi32(static_cast<int>(gone));
        const __m256i all_before = _mm256_set1_epi32(static_cast<int>(before));
        const __m256i all_at = _mm256_set1_epi32(static_cast<int>(at));
        const __m256i new_before = _mm256_set1_epi32(static_cast<int>(rank_before));
        const __m256i new_at = _mm256_set1_epi32(static_cast<int>(rank_at));
        for (unsigned v = 0; v < kVectors; ++v) {
            const __m256i lane = numbers(v);
            __m256i r = _mm256_or_si256(rank_[v], _mm256_cmpeq_epi32(lane, all_gone));
            r = _mm256_blendv_epi8(r, new_before, _mm256_cmpeq_epi32(lane, all_before));
            rank_[v] = _mm256_blendv_epi8(r, new_at, _mm256_cmpeq_epi32(lane, all_at));
        }
    }

private:
    static constexpr unsigned kVectors = 2 * kGroups;
    static __m256i numbers(unsigned v) noexcept {
        return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                _mm256_set1_epi32(static_cast<int>(8 * v)));
    }
    __m256i rank_[kVectors];
};

inline unsigned equal_slots(const std::uint64_t* line, std::uint64_t key) noexcept {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key));
    unsigned same = 0;
    for (unsigned half = 0; half < 2; ++half) {
        const __m256i slots = _mm256_load_si256(reinterpret_cast<const __m256i*>(line) + half);
        const __m256i equal =
            _mm256_cmpeq_epi64(_mm256_srli_epi64(slots, static_cast<int>(vocab::kIdBits)), wanted);
        same |= static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << (4 * half);
    }
    return same;
}
