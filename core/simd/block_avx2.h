// The 64-byte block vocabulary with AVX2 and BMI2; see block_scalar.h for the meaning.

using simd::ByteMasks;
using simd::Utf8Masks;
using simd::WideMasks;

inline unsigned trailing_zeros(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(_tzcnt_u64(bits));
}
inline unsigned top_bit(std::uint64_t bits) noexcept {
    return 63U - static_cast<unsigned>(_lzcnt_u64(bits));
}
inline unsigned count_bits(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(_mm_popcnt_u64(bits));
}
inline std::uint64_t keep_bytes(std::uint64_t word, unsigned count) noexcept {
    return _bzhi_u64(word, 8 * count);
}

struct Halves {
    __m256i low;
    __m256i high;
};
inline Halves load_block(const std::uint8_t* at) noexcept {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32))};
}
inline std::uint64_t to_mask(__m256i low, __m256i high) noexcept {
    const auto a = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
    const auto b = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
    return a | std::uint64_t{b} << 32;
}
inline __m256i all_bytes(int value) noexcept {
    return _mm256_set1_epi8(static_cast<char>(value));
}
inline std::uint64_t equals(Halves v, int value) noexcept {
    const __m256i wanted = all_bytes(value);
    return to_mask(_mm256_cmpeq_epi8(v.low, wanted), _mm256_cmpeq_epi8(v.high, wanted));
}
// Signed comparisons: bytes of 80 and above are negative.
inline std::uint64_t above(Halves v, int value) noexcept {
    const __m256i limit = all_bytes(value);
    return to_mask(_mm256_cmpgt_epi8(v.low, limit), _mm256_cmpgt_epi8(v.high, limit));
}
inline std::uint64_t below(Halves v, int value) noexcept {
    const __m256i limit = all_bytes(value);
    return to_mask(_mm256_cmpgt_epi8(limit, v.low), _mm256_cmpgt_epi8(limit, v.high));
}
// first <= byte < first + count, for ASCII bounds: moved so that one signed comparison decides.
inline std::uint64_t in_range(Halves v, int first, int count) noexcept {
    const __m256i move = all_bytes(-128 - first);
    return below({_mm256_add_epi8(v.low, move), _mm256_add_epi8(v.high, move)}, -128 + count);
}

inline ByteMasks byte_masks(const std::uint8_t* at) noexcept {
    const Halves v = load_block(at);
    const __m256i bit5 = all_bytes(0x20);
    const Halves folded = {_mm256_or_si256(v.low, bit5), _mm256_or_si256(v.high, bit5)};
    ByteMasks m;
    m.non_ascii = to_mask(v.low, v.high);
    m.letter = in_range(folded, 'a', 26);
    m.digit = in_range(v, '0', 10);
    m.space = equals(v, ' ');
    m.white = m.space | in_range(v, 9, 5);
    m.newline = equals(v, '\n') | equals(v, '\r');
    m.apostrophe = equals(v, '\'');
    m.nul = equals(v, 0);
    return m;
}

inline WideMasks wide_masks(const std::uint8_t* at) noexcept {
    const Halves v = load_block(at);
    const std::uint64_t continuation = below(v, -64);
    const std::uint64_t below_e0 = below(v, -32);
    const std::uint64_t below_f0 = below(v, -16);
    return {continuation, below_e0 & ~continuation, below_f0 & ~below_e0};
}

inline std::uint64_t upper_mask(const std::uint8_t* at) noexcept {
    return in_range(load_block(at), 'A', 26);
}

inline std::uint64_t equal_mask(const std::uint8_t* at, std::uint8_t byte) noexcept {
    return equals(load_block(at), byte);
}

inline Utf8Masks utf8_masks(const std::uint8_t* at) noexcept {
    const Halves v = load_block(at);
    Utf8Masks m;
    m.non_ascii = to_mask(v.low, v.high);
    m.continuation = below(v, -64);
    m.from_c2 = above(v, -63) & m.non_ascii;
    m.from_e0 = above(v, -33) & m.non_ascii;
    m.from_f0 = above(v, -17) & m.non_ascii;
    m.from_f5 = above(v, -12) & m.non_ascii;
    m.below_a0 = below(v, -96);
    m.below_90 = below(v, -112);
    m.is_e0 = equals(v, 0xE0);
    m.is_ed = equals(v, 0xED);
    m.is_f0 = equals(v, 0xF0);
    m.is_f4 = equals(v, 0xF4);
    return m;
}

inline bool is_ascii_block(const std::uint8_t* at) noexcept {
    const Halves v = load_block(at);
    return _mm256_movemask_epi8(_mm256_or_si256(v.low, v.high)) == 0;
}

inline unsigned equal_keys(const std::uint64_t* keys, std::uint64_t key) noexcept {
    const __m256i line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
    const __m256i same = _mm256_cmpeq_epi64(line, _mm256_set1_epi64x(static_cast<long long>(key)));
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
}

inline void store_inline_ids(std::uint32_t* out, std::uint64_t value) noexcept {
    const std::uint64_t two = _pdep_u64(value, 0x000FFFFF000FFFFFULL);
    std::memcpy(out, &two, 8);
    out[2] = static_cast<std::uint32_t>(value >> 40) & 0xFFFFF;
}

inline bool equal_key32(const std::uint64_t* a, const std::uint64_t* b) noexcept {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i d = _mm256_xor_si256(x, y);
    return _mm256_testz_si256(d, d) != 0;
}

inline __m256i look_up_nibbles(__m128i low, __m128i high, __m256i bytes) noexcept {
    const __m256i nibble = all_bytes(15);
    const __m256i l =
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), _mm256_and_si256(bytes, nibble));
    const __m256i h = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high),
                                          _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble));
    return _mm256_and_si256(l, h);
}

inline std::uint64_t prefix_candidates(const std::uint8_t (*low)[16],
                                       const std::uint8_t (*high)[16],
                                       const std::uint8_t* at) noexcept {
    __m256i bits[2] = {all_bytes(255), all_bytes(255)};
    for (unsigned k = 0; k < 3; ++k) {
        const __m128i l = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low[k]));
        const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(high[k]));
        for (unsigned half = 0; half < 2; ++half) {
            const __m256i bytes =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + k + 32 * half));
            bits[half] = _mm256_and_si256(bits[half], look_up_nibbles(l, h, bytes));
        }
    }
    const __m256i zero = _mm256_setzero_si256();
    return ~to_mask(_mm256_cmpeq_epi8(bits[0], zero), _mm256_cmpeq_epi8(bits[1], zero));
}
