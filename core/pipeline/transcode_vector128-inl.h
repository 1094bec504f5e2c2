// Groups of units -> UTF-8, for targets of 128 bits. Text inside a target's namespace;
// transcode_scalar-inl.h has the meaning.

constexpr std::ptrdiff_t kAsciiUnits = 32;
template <typename Unit>
constexpr std::ptrdiff_t kGroupUnits = 8;

inline bool write_ascii(const std::uint8_t* from, std::uint8_t* out) noexcept {
    const Vector low = load16(from);
    const Vector high = load16(from + 16);
    store16(out, low);
    store16(out + 16, high);
    return !is_any_sign(either(low, high));
}
inline bool write_ascii(const std::uint16_t* from, std::uint8_t* out) noexcept {
    Vector any = all_bytes(0);
    for (std::ptrdiff_t i = 0; i < kAsciiUnits; i += 16) {
        const Vector low = load16(from + i);
        const Vector high = load16(from + i + 8);
        any = either(any, either(low, high));
        store16(out + i, even_bytes(low, high));
    }
    return !is_any(both(any, all_numbers(0xFF80FF80U)));
}
inline bool write_ascii(const std::uint32_t* from, std::uint8_t* out) noexcept {
    Vector any = all_bytes(0);
    for (std::ptrdiff_t i = 0; i < kAsciiUnits; i += 16) {
        const Vector a = load16(from + i);
        const Vector b = load16(from + i + 4);
        const Vector c = load16(from + i + 8);
        const Vector d = load16(from + i + 12);
        any = either(any, either(either(a, b), either(c, d)));
        store16(out + i, even_bytes(even_bytes(a, b), even_bytes(c, d)));
    }
    return !is_any(both(any, all_numbers(~0x7FU)));
}

#include "pipeline/transcode_table-inl.h"

// Four code points, a number of 32 bits each.
struct FourCodes {
    Vector codes;

    [[nodiscard]] Vector is_above(std::uint32_t most) const noexcept {
        return above_numbers(codes, all_numbers(most));
    }
    // Bits [kFrom, kFrom + 6) of each, at kTo.
    template <int kFrom, int kTo>
    [[nodiscard]] Vector six_bits() const noexcept {
        const Vector bits = both(shift_numbers_down<kFrom>(codes), all_numbers(0x3F));
        return shift_numbers_up<kTo>(bits);
    }
    [[nodiscard]] bool has_surrogate() const noexcept {
        return is_any(equal_numbers(both(codes, all_numbers(~0x7FFU)), all_numbers(0xD800)));
    }
    // Their bytes, first byte lowest, to `out`; returns how many. A code point below kBelow.
    template <std::uint32_t kBelow>
    [[nodiscard]] std::size_t write(std::uint8_t* out) const noexcept {
        const Vector two = is_above(0x7F);
        unsigned low = mask_of_numbers(two);  // sizes less one: 0, 1, 2, 3
        unsigned high = 0;
        Vector bytes =
            choose(two, marked(shift_numbers_down<6>(codes), six_bits<0, 8>(), 0x80C0), codes);
        if constexpr (kBelow > 0x800) {
            const Vector three = is_above(0x7FF);
            high = mask_of_numbers(three);
            low ^= high;
            const Vector upper = either(shift_numbers_down<12>(codes), six_bits<6, 8>());
            bytes = choose(three, marked(upper, six_bits<0, 16>(), 0x8080E0), bytes);
        }
        if constexpr (kBelow > 0x10000) {
            const Vector four = is_above(0xFFFF);
            low ^= mask_of_numbers(four);
            const Vector upper = either(shift_numbers_down<18>(codes), six_bits<12, 8>());
            const Vector lower = either(six_bits<6, 16>(), six_bits<0, 24>());
            bytes = choose(four, marked(upper, lower, 0x808080F0U), bytes);
        }
        const unsigned row = low | high << 4;
        store16(out, look_up16(bytes, load16(kPack.pick[row])));
        return kPack.size[row];
    }
    static Vector marked(Vector a, Vector b, std::uint32_t marks) noexcept {
        return either(either(a, b), all_numbers(marks));
    }
};

template <std::uint32_t kBelow>
inline std::size_t write_eight(FourCodes first, FourCodes second, std::uint8_t* out) noexcept {
    if (kBelow > 0x100 && (first.has_surrogate() || second.has_surrogate())) {
        return 0;
    }
    const std::size_t half = first.write<kBelow>(out);
    return half + second.write<kBelow>(out + half);
}
inline std::size_t write_group(const std::uint8_t* from, std::uint8_t* out) noexcept {
    const Vector units = widen_bytes(from);
    return write_eight<0x100>({widen_low(units)}, {widen_high(units)}, out);
}
inline std::size_t write_group(const std::uint16_t* from, std::uint8_t* out) noexcept {
    const Vector units = load16(from);
    return write_eight<0x10000>({widen_low(units)}, {widen_high(units)}, out);
}
inline std::size_t write_group(const std::uint32_t* from, std::uint8_t* out) noexcept {
    return write_eight<0x110000>({load16(from)}, {load16(from + 4)}, out);
}
