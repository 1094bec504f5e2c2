// simd/vector: sixteen bytes in a register, with SIMD128 of WebAssembly; vector_neon.h has the same
// names and their meaning. Text inside a target's namespace, after <wasm_simd128.h>.

using Vector = v128_t;

inline Vector load16(const void* from) noexcept {
    return wasm_v128_load(from);
}
inline void store16(void* to, Vector v) noexcept {
    wasm_v128_store(to, v);
}
inline Vector all_bytes(int value) noexcept {
    return wasm_u8x16_splat(static_cast<std::uint8_t>(value));
}
inline Vector all_numbers(std::uint32_t value) noexcept {
    return wasm_u32x4_splat(value);
}
inline Vector both(Vector a, Vector b) noexcept {
    return wasm_v128_and(a, b);
}
inline Vector either(Vector a, Vector b) noexcept {
    return wasm_v128_or(a, b);
}
inline Vector differing(Vector a, Vector b) noexcept {
    return wasm_v128_xor(a, b);
}
inline Vector choose(Vector mask, Vector a, Vector b) noexcept {
    return wasm_v128_bitselect(a, b, mask);
}

inline Vector equal_bytes(Vector a, Vector b) noexcept {
    return wasm_i8x16_eq(a, b);
}
inline Vector at_least_bytes(Vector a, Vector b) noexcept {
    return wasm_u8x16_ge(a, b);
}
inline Vector below_bytes(Vector a, Vector b) noexcept {
    return wasm_u8x16_lt(a, b);
}
inline Vector common_bits(Vector a, Vector b) noexcept {
    return wasm_i8x16_ne(wasm_v128_and(a, b), wasm_i8x16_const_splat(0));
}
inline Vector subtract_bytes(Vector a, Vector b) noexcept {
    return wasm_i8x16_sub(a, b);
}
inline Vector subtract_to_zero(Vector a, Vector b) noexcept {
    return wasm_u8x16_sub_sat(a, b);
}
inline bool is_any(Vector v) noexcept {
    return wasm_v128_any_true(v);
}
inline bool is_any_sign(Vector v) noexcept {
    return wasm_i8x16_bitmask(v) != 0;
}

template <int kBits>
inline Vector shift_down(Vector v) noexcept {
    return wasm_u8x16_shr(v, kBits);
}
template <int kBits>
inline Vector insert_above(Vector low, Vector high) noexcept {
    return choose(all_bytes((1 << kBits) - 1), low, wasm_i16x8_shl(high, kBits));
}
inline void store_pairs(std::uint16_t* to, Vector low, Vector high) noexcept {
    store16(to,
            wasm_i8x16_shuffle(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    store16(to + 8, wasm_i8x16_shuffle(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                       30, 15, 31));
}

inline Vector high_nibbles(Vector v) noexcept {
    return wasm_u8x16_shr(v, 4);
}
inline Vector low_nibbles(Vector v) noexcept {
    return wasm_v128_and(v, wasm_u8x16_const_splat(15));
}
inline Vector look_up16(Vector table, Vector places) noexcept {
    return wasm_i8x16_swizzle(table, places);
}

// A table of 16 gives 0 for all places but its own, so the look-ups of several are joined.
template <int kTables>
inline Vector look_up_tables(const Vector* tables, Vector places) noexcept {
    Vector found = wasm_i8x16_swizzle(tables[0], places);
    for (int k = 1; k < kTables; ++k) {
        const Vector of_table = subtract_bytes(places, all_bytes(16 * k));
        found = either(found, wasm_i8x16_swizzle(tables[k], of_table));
    }
    return found;
}
class Table64 {
public:
    explicit Table64(const std::uint8_t* table) noexcept {
        for (int k = 0; k < 4; ++k) {
            entries_[k] = load16(table + std::ptrdiff_t{16} * k);
        }
    }
    [[nodiscard]] Vector at(Vector places) const noexcept {
        return look_up_tables<4>(entries_, both(places, all_bytes(63)));
    }

private:
    Vector entries_[4];
};
class Table128 {
public:
    Table128(const std::uint8_t* table, int other) noexcept : other_(all_bytes(other)) {
        for (int k = 0; k < 8; ++k) {
            entries_[k] = load16(table + std::ptrdiff_t{16} * k);
        }
    }
    [[nodiscard]] Vector at(Vector places) const noexcept {
        const Vector is_other = wasm_i8x16_shr(places, 7);
        return choose(is_other, other_, look_up_tables<8>(entries_, places));
    }

private:
    Vector entries_[8];
    Vector other_;
};

// 64 bytes of text, in order.
struct Quarters {
    Vector of[4];
};
inline Quarters load_block(const std::uint8_t* at) noexcept {
    return {{load16(at), load16(at + 16), load16(at + 32), load16(at + 48)}};
}

inline std::uint64_t sign_mask(Quarters v) noexcept {
    const auto quarter = [&](unsigned k) {
        return std::uint64_t{wasm_i8x16_bitmask(v.of[k])} << (16 * k);
    };
    return (quarter(0) | quarter(1)) | (quarter(2) | quarter(3));
}

template <int kBit>
inline std::uint64_t bit_mask(Quarters v) noexcept {
    for (Vector& quarter : v.of) {  // what comes from the byte below does not count
        quarter = wasm_i16x8_shl(quarter, 7 - kBit);
    }
    return sign_mask(v);
}

inline EntryMasks bit_masks(Quarters v) noexcept {
    return {{bit_mask<0>(v), bit_mask<1>(v), bit_mask<2>(v), bit_mask<3>(v), bit_mask<4>(v),
             bit_mask<5>(v), bit_mask<6>(v), bit_mask<7>(v)}};
}

inline Quarters move_up(Quarters v, std::uint8_t before) noexcept {
    const auto join = [](Vector a, Vector b) {
        return wasm_i8x16_shuffle(a, b, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                  30);
    };
    return {{join(all_bytes(before), v.of[0]), join(v.of[0], v.of[1]), join(v.of[1], v.of[2]),
             join(v.of[2], v.of[3])}};
}

inline Vector all_longs(const std::uint64_t* value) noexcept {
    return wasm_v128_load64_splat(value);
}
inline Vector equal_longs(Vector a, Vector b) noexcept {
    return wasm_i64x2_eq(a, b);
}
inline Vector first_longs(Vector a, Vector b) noexcept {
    const Vector low = wasm_i64x2_shuffle(a, b, 0, 2);
    const Vector is_zero = wasm_i64x2_eq(low, wasm_i64x2_const_splat(0));
    return choose(is_zero, wasm_i64x2_shuffle(a, b, 1, 3), low);
}
inline bool has_zero_long(const Vector (&v)[4]) noexcept {
    const auto is_zero = [](Vector a) { return wasm_i64x2_eq(a, wasm_i64x2_const_splat(0)); };
    return is_any(
        either(either(is_zero(v[0]), is_zero(v[1])), either(is_zero(v[2]), is_zero(v[3]))));
}

class BitQueue {
public:
    explicit BitQueue(std::uint64_t bits) noexcept : bits_(bits) {}
    [[nodiscard]] bool is_empty() const noexcept { return bits_ == 0; }
    TOKENMILL_INLINE unsigned take() noexcept {
        const unsigned next = first_bit(bits_);
        bits_ &= bits_ - 1;
        return next;
    }

private:
    std::uint64_t bits_;
};

inline Vector even_numbers(Vector a, Vector b) noexcept {
    return wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
}
inline Vector odd_numbers(Vector a, Vector b) noexcept {
    return wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
}
inline Vector equal_numbers(Vector a, Vector b) noexcept {
    return wasm_i32x4_eq(a, b);
}
inline bool is_all(Vector v) noexcept {
    return wasm_i32x4_all_true(v);
}
inline Vector above_numbers(Vector a, Vector b) noexcept {
    return wasm_u32x4_gt(a, b);
}
inline unsigned mask_of_numbers(Vector v) noexcept {
    return wasm_i32x4_bitmask(v);
}
template <int kBits>
inline Vector shift_numbers_down(Vector v) noexcept {
    return wasm_u32x4_shr(v, kBits);
}
template <int kBits>
inline Vector shift_numbers_up(Vector v) noexcept {
    return wasm_i32x4_shl(v, kBits);
}

inline Vector even_bytes(Vector a, Vector b) noexcept {
    return wasm_i8x16_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
inline Vector widen_bytes(const std::uint8_t* from) noexcept {
    return wasm_u16x8_load8x8(from);
}
inline Vector widen_low(Vector v) noexcept {
    return wasm_u32x4_extend_low_u16x8(v);
}
inline Vector widen_high(Vector v) noexcept {
    return wasm_u32x4_extend_high_u16x8(v);
}

inline unsigned mask_of_bytes(Vector v) noexcept {
    return wasm_i8x16_bitmask(v);
}
inline Vector lesser_numbers(Vector a, Vector b) noexcept {
    return wasm_u32x4_min(a, b);
}
inline std::uint32_t least_number(Vector v) noexcept {
    v = wasm_u32x4_min(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    v = wasm_u32x4_min(v, wasm_i32x4_shuffle(v, v, 1, 0, 3, 2));
    return static_cast<std::uint32_t>(wasm_i32x4_extract_lane(v, 0));
}
template <unsigned kBits>
inline Vector shift_longs_down(Vector v) noexcept {
    return wasm_u64x2_shr(v, kBits);
}
inline unsigned mask_of_longs(Vector a, Vector b, Vector c, Vector d) noexcept {
    return wasm_i16x8_bitmask(
        wasm_i16x8_shuffle(even_numbers(a, b), even_numbers(c, d), 0, 2, 4, 6, 8, 10, 12, 14));
}
