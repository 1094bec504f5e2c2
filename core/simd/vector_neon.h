// simd/vector: sixteen bytes in a register, with NEON. The few operations that the text for targets
// of 128 bits is written in (block_vector128.h and others); vector_simd128.h has the same names.
// Text inside a target's namespace, after <arm_neon.h>.

using Vector = uint8x16_t;

inline Vector load16(const void* from) noexcept {
    return vld1q_u8(static_cast<const std::uint8_t*>(from));
}
inline void store16(void* to, Vector v) noexcept {
    vst1q_u8(static_cast<std::uint8_t*>(to), v);
}
inline Vector all_bytes(int value) noexcept {
    return vdupq_n_u8(static_cast<std::uint8_t>(value));
}
inline Vector all_numbers(std::uint32_t value) noexcept {  // four of 32 bits
    return vreinterpretq_u8_u32(vdupq_n_u32(value));
}
inline Vector both(Vector a, Vector b) noexcept {
    return vandq_u8(a, b);
}
inline Vector either(Vector a, Vector b) noexcept {
    return vorrq_u8(a, b);
}
inline Vector differing(Vector a, Vector b) noexcept {
    return veorq_u8(a, b);
}
// The bits of `a` where `mask` has ones, else those of `b`.
inline Vector choose(Vector mask, Vector a, Vector b) noexcept {
    return vbslq_u8(mask, a, b);
}

// Comparisons give bytes of ones or of zeros. Bytes are numbers from 0 to 255.
inline Vector equal_bytes(Vector a, Vector b) noexcept {
    return vceqq_u8(a, b);
}
inline Vector at_least_bytes(Vector a, Vector b) noexcept {
    return vcgeq_u8(a, b);
}
inline Vector below_bytes(Vector a, Vector b) noexcept {
    return vcltq_u8(a, b);
}
inline Vector common_bits(Vector a, Vector b) noexcept {  // ones where a & b is not 0
    return vtstq_u8(a, b);
}
inline Vector subtract_bytes(Vector a, Vector b) noexcept {
    return vsubq_u8(a, b);
}
inline Vector subtract_to_zero(Vector a, Vector b) noexcept {
    return vqsubq_u8(a, b);
}
inline bool is_any(Vector v) noexcept {
    return vmaxvq_u32(vreinterpretq_u32_u8(v)) != 0;
}
inline bool is_any_sign(Vector v) noexcept {
    return vmaxvq_u8(v) >= 0x80;
}

template <int kBits>
inline Vector shift_down(Vector v) noexcept {  // within each byte
    return vshrq_n_u8(v, kBits);
}
// The low bits of each byte of `low`, and above them those of `high`.
template <int kBits>
inline Vector insert_above(Vector low, Vector high) noexcept {
    return vsliq_n_u8(low, high, kBits);
}
// Sixteen numbers of 16 bits, from their two halves.
inline void store_pairs(std::uint16_t* to, Vector low, Vector high) noexcept {
    const uint8x16x2_t halves = {{low, high}};  // an intrinsic may be a macro
    vst2q_u8(reinterpret_cast<std::uint8_t*>(to), halves);
}

inline Vector high_nibbles(Vector v) noexcept {
    return vshrq_n_u8(v, 4);
}
inline Vector low_nibbles(Vector v) noexcept {
    return vandq_u8(v, vdupq_n_u8(15));
}
// Entries of a table of 16; 0 where the place is 16 or more.
inline Vector look_up16(Vector table, Vector places) noexcept {
    return vqtbl1q_u8(table, places);
}

// Tables that need several look-ups, in registers while a block is looked up.
class Table64 {
public:
    explicit Table64(const std::uint8_t* table) noexcept : entries_(vld1q_u8_x4(table)) {}
    // By the low six bits of the places.
    [[nodiscard]] Vector at(Vector places) const noexcept {
        return vqtbl4q_u8(entries_, vandq_u8(places, vdupq_n_u8(63)));
    }

private:
    uint8x16x4_t entries_;
};
class Table128 {
public:
    Table128(const std::uint8_t* table, int other) noexcept
        : low_(vld1q_u8_x4(table)), high_(vld1q_u8_x4(table + 64)), other_(all_bytes(other)) {}
    // `other` where the place is 128 or more.
    [[nodiscard]] Vector at(Vector places) const noexcept {
        return vqtbx4q_u8(vqtbx4q_u8(other_, low_, places), high_,
                          veorq_u8(places, vdupq_n_u8(64)));
    }

private:
    uint8x16x4_t low_;
    uint8x16x4_t high_;
    Vector other_;
};

// 64 bytes of text. They lie in an order that makes masks cheap: every fourth byte in one vector.
//
//   of[0]   0  4   8 ... 60        bit 7 of four bytes that are neighbours in the text comes
//   of[1]   1  5   9 ... 61        together with three shifts, not sixteen at a time
//   of[2]   2  6  10 ... 62
//   of[3]   3  7  11 ... 63
struct Quarters {
    Vector of[4];
};
inline Quarters load_block(const std::uint8_t* at) noexcept {
    const uint8x16x4_t v = vld4q_u8(at);
    return {{v.val[0], v.val[1], v.val[2], v.val[3]}};
}

// Bits 7 of all bytes. Each step inserts the upper bits of one vector below those of another one:
//
//   pairs   bits 7 and 6: of byte 1 and 0, 3 and 2
//   fours   bits 7 to 4: of bytes 3 2 1 0      then the same in bits 3 to 0
//   result  a byte of eight bits from each two neighbours
inline std::uint64_t sign_mask(Quarters v) noexcept {
    const Vector pair01 = vsriq_n_u8(v.of[1], v.of[0], 1);
    const Vector pair23 = vsriq_n_u8(v.of[3], v.of[2], 1);
    const Vector four = vsriq_n_u8(pair23, pair01, 2);
    const Vector twice = vsriq_n_u8(four, four, 4);
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(twice), 4)), 0);
}

// Bit kBit of all bytes.
template <int kBit>
inline std::uint64_t bit_mask(Quarters v) noexcept {
    if constexpr (kBit == 7) {
        return sign_mask(v);
    } else {
        const auto to_sign = [](Vector q) { return vshlq_n_u8(q, 7 - kBit); };
        return sign_mask(
            {{to_sign(v.of[0]), to_sign(v.of[1]), to_sign(v.of[2]), to_sign(v.of[3])}});
    }
}

// A mask of each of the eight bits of all bytes: rows become columns in three steps, each of which
// doubles the number of neighbours whose bits are together.
inline EntryMasks bit_masks(Quarters v) noexcept {
    const Vector even = vdupq_n_u8(0x55);
    const Vector odd = vdupq_n_u8(0xAA);
    const Vector even01 = choose(even, v.of[0], vshlq_n_u8(v.of[1], 1));  // bits 0 2 4 6
    const Vector even23 = choose(even, v.of[2], vshlq_n_u8(v.of[3], 1));
    const Vector odd01 = choose(odd, v.of[1], vshrq_n_u8(v.of[0], 1));  // bits 1 3 5 7
    const Vector odd23 = choose(odd, v.of[3], vshrq_n_u8(v.of[2], 1));
    const Vector low = vdupq_n_u8(0x33);
    const Vector high = vdupq_n_u8(0xCC);
    const Vector bits04 = choose(low, even01, vshlq_n_u8(even23, 2));
    const Vector bits15 = choose(low, odd01, vshlq_n_u8(odd23, 2));
    const Vector bits26 = choose(high, even23, vshrq_n_u8(even01, 2));
    const Vector bits37 = choose(high, odd23, vshrq_n_u8(odd01, 2));
    const auto join = [](Vector a, Vector b, std::uint64_t* lower, std::uint64_t* upper) {
        const Vector first = vuzp1q_u8(a, b);
        const Vector second = vuzp2q_u8(a, b);
        const uint64x2_t below = vreinterpretq_u64_u8(vsliq_n_u8(first, second, 4));
        const uint64x2_t above = vreinterpretq_u64_u8(vsriq_n_u8(second, first, 4));
        lower[0] = vgetq_lane_u64(below, 0);
        lower[1] = vgetq_lane_u64(below, 1);
        upper[0] = vgetq_lane_u64(above, 0);
        upper[1] = vgetq_lane_u64(above, 1);
    };
    EntryMasks m;
    join(bits04, bits15, m.of, m.of + 4);
    join(bits26, bits37, m.of + 2, m.of + 6);
    return m;
}

// Every byte moves up by one; `before` comes first.
inline Quarters move_up(Quarters v, std::uint8_t before) noexcept {
    return {{vextq_u8(vdupq_n_u8(before), v.of[3], 15), v.of[0], v.of[1], v.of[2]}};
}

// Two numbers of 64 bits.
inline Vector all_longs(const std::uint64_t* value) noexcept {
    return vreinterpretq_u8_u64(vld1q_dup_u64(value));
}
inline Vector equal_longs(Vector a, Vector b) noexcept {
    return vreinterpretq_u8_u64(vceqq_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}
// The first number of `a`, and of `b`, that is not 0.
inline Vector first_longs(Vector a, Vector b) noexcept {
    const uint64x2_t x = vreinterpretq_u64_u8(a);
    const uint64x2_t y = vreinterpretq_u64_u8(b);
    const uint64x2_t low = vzip1q_u64(x, y);
    return vreinterpretq_u8_u64(vbslq_u64(vceqzq_u64(low), vzip2q_u64(x, y), low));
}
// Is one of eight numbers 0? Made narrow, a number that is not 0 is not 0 either.
inline bool has_zero_long(const Vector (&v)[4]) noexcept {
    const auto narrow = [](Vector a, Vector b) {
        return vqmovn_high_u64(vqmovn_u64(vreinterpretq_u64_u8(a)), vreinterpretq_u64_u8(b));
    };
    return vminvq_u32(vminq_u32(narrow(v[0], v[1]), narrow(v[2], v[3]))) == 0;
}

// The bits of a mask, from the lowest on. They are kept in reverse order, because this processor
// counts zeros from above.
class BitQueue {
public:
    explicit BitQueue(std::uint64_t bits) noexcept : reversed_(reverse(bits)) {}
    [[nodiscard]] bool is_empty() const noexcept { return reversed_ == 0; }
    // Takes the next one; 64 if there is none.
    TOKENMILL_INLINE unsigned take() noexcept {
        const unsigned next = reversed_ == 0 ? 64U : zeros_above(reversed_);
        reversed_ &= ~(kTop >> (next & 63U));
        return next;
    }

private:
    static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    static std::uint64_t reverse(std::uint64_t bits) noexcept {
        return vget_lane_u64(vreinterpret_u64_u8(vrev64_u8(vrbit_u8(vcreate_u8(bits)))), 0);
    }
    std::uint64_t reversed_;
};

// Four numbers of 32 bits.
inline Vector even_numbers(Vector a, Vector b) noexcept {  // numbers 0 and 2 of both
    return vreinterpretq_u8_u32(vuzp1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
inline Vector odd_numbers(Vector a, Vector b) noexcept {
    return vreinterpretq_u8_u32(vuzp2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
inline Vector equal_numbers(Vector a, Vector b) noexcept {
    return vreinterpretq_u8_u32(vceqq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
inline bool is_all(Vector v) noexcept {  // ones
    return vminvq_u32(vreinterpretq_u32_u8(v)) == ~0U;
}
inline Vector above_numbers(Vector a, Vector b) noexcept {
    return vreinterpretq_u8_u32(vcgtq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
// Bit i: number i of a comparison is ones.
inline unsigned mask_of_numbers(Vector v) noexcept {
    constexpr std::uint32_t kBits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vreinterpretq_u32_u8(v), vld1q_u32(kBits)));
}
template <int kBits>
inline Vector shift_numbers_down(Vector v) noexcept {
    if constexpr (kBits == 0) {
        return v;
    } else {
        return vreinterpretq_u8_u32(vshrq_n_u32(vreinterpretq_u32_u8(v), kBits));
    }
}
template <int kBits>
inline Vector shift_numbers_up(Vector v) noexcept {
    return vreinterpretq_u8_u32(vshlq_n_u32(vreinterpretq_u32_u8(v), kBits));
}

// Between numbers of 8, 16 and 32 bits.
inline Vector even_bytes(Vector a, Vector b) noexcept {  // the lower halves of numbers of 16 bits
    return vuzp1q_u8(a, b);
}
inline Vector widen_bytes(const std::uint8_t* from) noexcept {  // eight
    return vreinterpretq_u8_u16(vmovl_u8(vld1_u8(from)));
}
inline Vector widen_low(Vector v) noexcept {  // the first four of 16 bits
    return vreinterpretq_u8_u32(vmovl_u16(vget_low_u16(vreinterpretq_u16_u8(v))));
}
inline Vector widen_high(Vector v) noexcept {
    return vreinterpretq_u8_u32(vmovl_high_u16(vreinterpretq_u16_u8(v)));
}

// Bit i: byte i of a comparison is ones.
inline unsigned mask_of_bytes(Vector v) noexcept {
    constexpr std::uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bits = vandq_u8(v, vld1q_u8(kBits));
    return vaddv_u8(vget_low_u8(bits)) | static_cast<unsigned>(vaddv_u8(vget_high_u8(bits))) << 8;
}
inline Vector lesser_numbers(Vector a, Vector b) noexcept {
    return vreinterpretq_u8_u32(vminq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
inline std::uint32_t least_number(Vector v) noexcept {
    return vminvq_u32(vreinterpretq_u32_u8(v));
}
template <unsigned kBits>
inline Vector shift_longs_down(Vector v) noexcept {
    return vreinterpretq_u8_u64(vshrq_n_u64(vreinterpretq_u64_u8(v), kBits));
}
// Bit i: number i of comparisons of eight numbers of 64 bits is ones.
inline unsigned mask_of_longs(Vector a, Vector b, Vector c, Vector d) noexcept {
    constexpr std::uint8_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint16x8_t shorts = vuzp1q_u16(vreinterpretq_u16_u8(even_numbers(a, b)),
                                         vreinterpretq_u16_u8(even_numbers(c, d)));
    return vaddv_u8(vand_u8(vmovn_u16(shorts), vld1_u8(kBits)));
}
