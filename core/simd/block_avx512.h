// The vocabulary of 64-byte blocks with AVX-512; block_bmi2.h adds the rest, block_scalar.h has the
// meaning.

using simd::ByteMasks;
using simd::EntryMasks;
using simd::PairMasks;
using simd::PairTables;
using simd::WideMasks;

inline __m512i load_block(const std::uint8_t* at) noexcept {
    return _mm512_loadu_si512(at);
}
inline __m512i all_bytes(int value) noexcept {
    return _mm512_set1_epi8(static_cast<char>(value));
}
inline std::uint64_t equals(__m512i v, int value) noexcept {
    return _mm512_cmpeq_epi8_mask(v, all_bytes(value));
}
inline std::uint64_t sign_mask(__m512i v) noexcept {
    return _mm512_movepi8_mask(v);
}
inline std::uint64_t zero_mask(__m512i v) noexcept {
    return _mm512_testn_epi8_mask(v, v);
}
inline std::uint64_t at_least(__m512i v, int value) noexcept {
    return _mm512_cmpge_epu8_mask(v, all_bytes(value));
}
// first <= byte < first + count
inline std::uint64_t in_range(__m512i v, int first, int count) noexcept {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, all_bytes(first)), all_bytes(count));
}

inline __m512i with_bit5(__m512i v) noexcept {
    return _mm512_or_si512(v, all_bytes(0x20));
}

inline WideMasks wide_masks(const std::uint8_t* at) noexcept {
    const __m512i v = load_block(at);
    return {in_range(v, 0x80, 0x40), in_range(v, 0xC0, 0x20), in_range(v, 0xE0, 0x10)};
}

TOKENMILL_INLINE EntryMasks entry_masks(const std::uint8_t* table, const std::uint8_t* at,
                                        std::uint64_t places) noexcept {
    const __m512i entries =
        _mm512_maskz_permutexvar_epi8(places, load_block(at), load_block(table));
    EntryMasks m;
    for (unsigned k = 0; k < 8; ++k) {
        m.of[k] = _mm512_test_epi8_mask(entries, all_bytes(1 << k));
    }
    return m;
}

inline unsigned equal_keys(const std::uint64_t* keys, std::uint64_t key) noexcept {
    const __m256i line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
    return _cvtmask8_u32(
        _mm256_cmpeq_epi64_mask(line, _mm256_set1_epi64x(static_cast<long long>(key))));
}

inline unsigned equal_pairs(const std::uint64_t* keys, const std::uint64_t* pair) noexcept {
    const __m256i line = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
    const __m256i wanted =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(pair)));
    const unsigned halves = _cvtmask8_u32(_mm256_cmpeq_epi64_mask(line, wanted));
    return halves & halves >> 1 & 5U;
}

inline bool equal_key32(const std::uint64_t* a, const std::uint64_t* b) noexcept {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    return _mm256_cmpneq_epi64_mask(x, y) == 0;
}

inline __m512i low_nibbles(__m512i bytes) noexcept {
    return _mm512_and_si512(bytes, all_bytes(15));
}
inline __m512i high_nibbles(__m512i bytes) noexcept {
    return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), all_bytes(15));
}
inline __m512i look_up16(const std::uint8_t* table, __m512i nibbles) noexcept {
    const __m512i entries = _mm512_maskz_broadcast_i32x4(
        0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return _mm512_shuffle_epi8(entries, nibbles);
}

inline bool is_ascii_block(const std::uint8_t* at) noexcept {
    return _mm512_movepi8_mask(_mm512_or_si512(load_block(at - 3), load_block(at))) == 0;
}

inline bool is_bad_utf8(const std::uint8_t* at) noexcept {
    const simd::Utf8Faults& faults = simd::kUtf8Faults;
    const __m512i first = load_block(at - 1);
    const __m512i pair =
        _mm512_and_si512(_mm512_and_si512(look_up16(faults.first_high, high_nibbles(first)),
                                          look_up16(faults.first_low, low_nibbles(first))),
                         look_up16(faults.second_high, high_nibbles(load_block(at))));
    // Bit 7 where the byte two before is at least E0, or the one three before at least F0.
    const __m512i third = _mm512_subs_epu8(load_block(at - 2), all_bytes(0xE0 - 0x80));
    const __m512i fourth = _mm512_subs_epu8(load_block(at - 3), all_bytes(0xF0 - 0x80));
    const __m512i follows = _mm512_and_si512(_mm512_or_si512(third, fourth), all_bytes(0x80));
    return _mm512_cmpneq_epi8_mask(pair, follows) != 0;
}

inline bool has_first_byte(const std::uint8_t* low, const std::uint8_t* high,
                           const std::uint8_t* at) noexcept {
    const __m512i bytes = load_block(at);
    return _mm512_test_epi8_mask(look_up16(low, low_nibbles(bytes)),
                                 look_up16(high, high_nibbles(bytes))) != 0;
}

inline std::uint64_t prefix_candidates(const std::uint8_t (*low)[16],
                                       const std::uint8_t (*high)[16],
                                       const std::uint8_t* at) noexcept {
    __m512i bits = all_bytes(255);
    for (unsigned k = 0; k < 3; ++k) {
        const __m512i bytes = load_block(at + k);
        bits = _mm512_and_si512(bits, _mm512_and_si512(look_up16(low[k], low_nibbles(bytes)),
                                                       look_up16(high[k], high_nibbles(bytes))));
    }
    return _mm512_test_epi8_mask(bits, bits);
}

inline __m512i look_up_kinds(const std::uint8_t* table, __m512i kinds) noexcept {
    return _mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(
                                   0xFFFF, _mm_load_si128(reinterpret_cast<const __m128i*>(table))),
                               kinds);
}

inline PairMasks pair_masks(const PairTables& tables, const std::uint8_t* at,
                            std::uint8_t before) noexcept {
    // Byte i becomes byte i - 1: the lanes of 16 bytes move by four, then each is joined with its
    // neighbour.
    const __m512i bytes = load_block(at);
    const __m512i by_byte = _mm512_permutex2var_epi8(_mm512_load_si512(tables.kind), bytes,
                                                     _mm512_load_si512(tables.kind + 64));
    const __m512i kinds =
        _mm512_mask_set1_epi8(by_byte, sign_mask(bytes), static_cast<char>(tables.wide_kind));
    const __m512i left = look_up_kinds(tables.left, kinds);
    const __m512i lane_before = _mm512_maskz_alignr_epi32(
        0xFFFF, left, _mm512_maskz_set1_epi8(~std::uint64_t{0}, static_cast<char>(before)), 12);
    const __m512i previous = _mm512_alignr_epi8(left, lane_before, 15);
    return {_mm512_test_epi8_mask(previous, look_up_kinds(tables.first, kinds)),
            _mm512_test_epi8_mask(previous, look_up_kinds(tables.second, kinds))};
}
