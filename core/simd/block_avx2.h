// The vocabulary of 64-byte blocks with AVX2; block_bmi2.h adds the rest, block_scalar.h has the
// meaning.

using simd::ByteMasks;
using simd::EntryMasks;
using simd::PairMasks;
using simd::PairTables;
using simd::WideMasks;

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
inline std::uint64_t sign_mask(Halves v) noexcept {
    return to_mask(v.low, v.high);
}
inline std::uint64_t zero_mask(Halves v) noexcept {
    return equals(v, 0);
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
inline std::uint64_t at_least(Halves v, int value) noexcept {  // for values of 80 and above
    return above(v, value - 257) & sign_mask(v);
}
// first <= byte < first + count: moved so that one signed comparison decides.
inline std::uint64_t in_range(Halves v, int first, int count) noexcept {
    const __m256i move = all_bytes(-128 - first);
    return below({_mm256_add_epi8(v.low, move), _mm256_add_epi8(v.high, move)}, -128 + count);
}

inline Halves with_bit5(Halves v) noexcept {
    const __m256i bit5 = all_bytes(0x20);
    return {_mm256_or_si256(v.low, bit5), _mm256_or_si256(v.high, bit5)};
}

inline WideMasks wide_masks(const std::uint8_t* at) noexcept {
    const Halves v = load_block(at);
    const std::uint64_t continuation = below(v, -64);
    const std::uint64_t below_e0 = below(v, -32);
    const std::uint64_t below_f0 = below(v, -16);
    return {continuation, below_e0 & ~continuation, below_f0 & ~below_e0};
}

// 64 entries are four look-ups of 16; bits 4 and 5 of a byte choose among them.
inline __m256i look_up64(const std::uint8_t* table, __m256i bytes) noexcept {
    const auto sixteen = [&](unsigned k) {
        return _mm256_shuffle_epi8(
            _mm256_broadcastsi128_si256(
                _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + std::size_t{16} * k))),
            _mm256_and_si256(bytes, all_bytes(15)));
    };
    const __m256i by_bit4 = _mm256_slli_epi16(bytes, 3);
    const __m256i low = _mm256_blendv_epi8(sixteen(0), sixteen(1), by_bit4);
    const __m256i high = _mm256_blendv_epi8(sixteen(2), sixteen(3), by_bit4);
    return _mm256_blendv_epi8(low, high, _mm256_slli_epi16(bytes, 2));
}

TOKENMILL_INLINE EntryMasks entry_masks(const std::uint8_t* table, const std::uint8_t* at,
                                        std::uint64_t places) noexcept {
    const Halves v = load_block(at);
    const __m256i low = look_up64(table, v.low);
    const __m256i high = look_up64(table, v.high);
    EntryMasks m;
    for (int k = 0; k < 8; ++k) {
        m.of[k] = to_mask(_mm256_slli_epi16(low, 7 - k), _mm256_slli_epi16(high, 7 - k)) & places;
    }
    return m;
}

inline unsigned equal_keys(const std::uint64_t* keys, std::uint64_t key) noexcept {
    const __m256i line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
    const __m256i same = _mm256_cmpeq_epi64(line, _mm256_set1_epi64x(static_cast<long long>(key)));
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
}

inline unsigned equal_pairs(const std::uint64_t* keys, const std::uint64_t* pair) noexcept {
    const __m256i line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
    const __m256i wanted =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(pair)));
    const __m256i same = _mm256_cmpeq_epi64(line, wanted);
    const auto halves = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
    return halves & halves >> 1 & 5U;
}

inline bool equal_key32(const std::uint64_t* a, const std::uint64_t* b) noexcept {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i d = _mm256_xor_si256(x, y);
    return _mm256_testz_si256(d, d) != 0;
}

inline __m256i load32(const std::uint8_t* at) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
inline __m256i low_nibbles(__m256i bytes) noexcept {
    return _mm256_and_si256(bytes, all_bytes(15));
}
inline __m256i high_nibbles(__m256i bytes) noexcept {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), all_bytes(15));
}
inline __m256i look_up16(const std::uint8_t* table, __m256i nibbles) noexcept {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), nibbles);
}

inline bool is_ascii_block(const std::uint8_t* at) noexcept {
    const __m256i any =
        _mm256_or_si256(_mm256_or_si256(load32(at - 3), load32(at)), load32(at + 32));
    return _mm256_movemask_epi8(any) == 0;
}

// The faults of 32 bytes: zero where all is well.
inline __m256i utf8_faults(const std::uint8_t* at) noexcept {
    const simd::Utf8Faults& faults = simd::kUtf8Faults;
    const __m256i first = load32(at - 1);
    const __m256i pair =
        _mm256_and_si256(_mm256_and_si256(look_up16(faults.first_high, high_nibbles(first)),
                                          look_up16(faults.first_low, low_nibbles(first))),
                         look_up16(faults.second_high, high_nibbles(load32(at))));
    // Bit 7 where the byte two before is at least E0, or the one three before at least F0.
    const __m256i third = _mm256_subs_epu8(load32(at - 2), all_bytes(0xE0 - 0x80));
    const __m256i fourth = _mm256_subs_epu8(load32(at - 3), all_bytes(0xF0 - 0x80));
    const __m256i follows = _mm256_and_si256(_mm256_or_si256(third, fourth), all_bytes(0x80));
    return _mm256_xor_si256(pair, follows);
}

inline bool is_bad_utf8(const std::uint8_t* at) noexcept {
    const __m256i faults = _mm256_or_si256(utf8_faults(at), utf8_faults(at + 32));
    return _mm256_testz_si256(faults, faults) == 0;
}

inline bool has_first_byte(const std::uint8_t* low, const std::uint8_t* high,
                           const std::uint8_t* at) noexcept {
    __m256i found = _mm256_setzero_si256();
    for (unsigned half = 0; half < 64; half += 32) {
        const __m256i bytes = load32(at + half);
        found = _mm256_or_si256(found, _mm256_and_si256(look_up16(low, low_nibbles(bytes)),
                                                        look_up16(high, high_nibbles(bytes))));
    }
    return _mm256_testz_si256(found, found) == 0;
}

inline std::uint64_t prefix_candidates(const std::uint8_t (*low)[16],
                                       const std::uint8_t (*high)[16],
                                       const std::uint8_t* at) noexcept {
    __m256i bits[2] = {all_bytes(255), all_bytes(255)};
    for (unsigned k = 0; k < 3; ++k) {
        for (unsigned half = 0; half < 2; ++half) {
            const __m256i bytes = load32(at + k + std::size_t{32} * half);
            const __m256i found = _mm256_and_si256(look_up16(low[k], low_nibbles(bytes)),
                                                   look_up16(high[k], high_nibbles(bytes)));
            bits[half] = _mm256_and_si256(bits[half], found);
        }
    }
    const __m256i zero = _mm256_setzero_si256();
    return ~to_mask(_mm256_cmpeq_epi8(bits[0], zero), _mm256_cmpeq_epi8(bits[1], zero));
}

// A table of 128 entries is eight of 16. A byte is in table k if its upper half is k: then and only
// then (byte ^ 16 * k) + 70 is below 80, and a shuffle takes the entry instead of 0.
inline __m256i look_up128(const std::uint8_t* table, __m256i bytes) noexcept {
    __m256i found = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
        const __m256i entries = _mm256_broadcastsi128_si256(
            _mm_load_si128(reinterpret_cast<const __m128i*>(table + std::ptrdiff_t{16} * k)));
        const __m256i place =
            _mm256_adds_epu8(_mm256_xor_si256(bytes, all_bytes(16 * k)), all_bytes(0x70));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(entries, place));
    }
    return found;
}

inline Halves look_up_kinds(const std::uint8_t* table, Halves kinds) noexcept {
    const __m256i entries =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(entries, kinds.low), _mm256_shuffle_epi8(entries, kinds.high)};
}

inline std::uint64_t common_bits_mask(Halves a, Halves b) noexcept {
    const __m256i zero = _mm256_setzero_si256();
    return ~to_mask(_mm256_cmpeq_epi8(_mm256_and_si256(a.low, b.low), zero),
                    _mm256_cmpeq_epi8(_mm256_and_si256(a.high, b.high), zero));
}

inline PairMasks pair_masks(const PairTables& tables, const std::uint8_t* at,
                            std::uint8_t before) noexcept {
    const Halves bytes = load_block(at);
    const __m256i wide = all_bytes(tables.wide_kind);
    const Halves kinds = {
        _mm256_blendv_epi8(look_up128(tables.kind, bytes.low), wide, bytes.low),
        _mm256_blendv_epi8(look_up128(tables.kind, bytes.high), wide, bytes.high)};
    const Halves left = look_up_kinds(tables.left, kinds);
    const Halves lane_before = {_mm256_permute2x128_si256(all_bytes(before), left.low, 0x21),
                                _mm256_permute2x128_si256(left.low, left.high, 0x21)};
    const Halves previous = {_mm256_alignr_epi8(left.low, lane_before.low, 15),
                             _mm256_alignr_epi8(left.high, lane_before.high, 15)};
    return {common_bits_mask(previous, look_up_kinds(tables.first, kinds)),
            common_bits_mask(previous, look_up_kinds(tables.second, kinds))};
}
