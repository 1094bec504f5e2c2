// simd/utf8: 64 bytes -> are they UTF-8? Text compiled once per target, inside its namespace.

// What the bytes before this block demand of its first bytes.
struct Utf8Carry {
    std::uint64_t continuation = 0;  // bytes of this block that must continue a character
    std::uint64_t after_e0 = 0;      // the last byte was E0, and so on
    std::uint64_t after_ed = 0;
    std::uint64_t after_f0 = 0;
    std::uint64_t after_f4 = 0;
};

// Every continuation byte is where a lead byte asks for one, and no lead starts an overlong form, a
// surrogate or a number above 10FFFF. Bits of a text with E0 A0 80 after an ASCII letter:
//   text           a E0 A0 80 b
//   lead << 1      0 0  1  0  0
//   from_e0 << 2   0 0  0  1  0
//   expected       0 0  1  1  0    must equal the mask of continuation bytes
inline bool check_utf8_block(const std::uint8_t* at, Utf8Carry& carry) noexcept {
    const Utf8Masks m = utf8_masks(at);
    const std::uint64_t lead = m.from_c2;
    const std::uint64_t expected = carry.continuation | lead << 1 | m.from_e0 << 2 | m.from_f0 << 3;
    const std::uint64_t bad_byte = (m.non_ascii & ~m.continuation & ~lead) | m.from_f5;
    const std::uint64_t bad_second = ((m.is_e0 << 1 | carry.after_e0) & m.below_a0) |
                                     ((m.is_ed << 1 | carry.after_ed) & ~m.below_a0) |
                                     ((m.is_f0 << 1 | carry.after_f0) & m.below_90) |
                                     ((m.is_f4 << 1 | carry.after_f4) & ~m.below_90);
    carry.continuation = lead >> 63 | m.from_e0 >> 62 | m.from_f0 >> 61;
    carry.after_e0 = m.is_e0 >> 63;
    carry.after_ed = m.is_ed >> 63;
    carry.after_f0 = m.is_f0 >> 63;
    carry.after_f4 = m.is_f4 >> 63;
    return expected == m.continuation && (bad_byte | bad_second) == 0;
}

// True when all of [begin, end) is well-formed. Reads nothing outside.
inline bool is_utf8(const std::uint8_t* begin, const std::uint8_t* end) noexcept {
    Utf8Carry carry;
    const std::uint8_t* at = begin;
    for (; end - at >= 64; at += 64) {
        if (is_ascii_block(at)) {
            if (carry.continuation != 0) {
                return false;
            }
            carry = {};
        } else if (!check_utf8_block(at, carry)) {
            return false;
        }
    }
    std::uint8_t rest[64] =
        {};  // zeros are ASCII: a character cut off at the end shows as an error
    std::memcpy(rest, at, static_cast<std::size_t>(end - at));
    return check_utf8_block(rest, carry) && carry.continuation == 0;
}
