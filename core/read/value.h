// read/value: what a walk over a line of JSON finds, and the bytes that an escape is made of. The
// CPU's readers and the device kernels take them from here. Freestanding, no table.
#pragma once

#include "base/device.h"

namespace tokenmill::read {

// Objects and arrays inside of each other; a deeper line is not read.
inline constexpr TmU32 kMaxDepth = 1024;

// A value as it appears in its line: the bytes between the quotes if it is a string.
struct Value {
    enum class Type : TmU8 { None, String, Null, Other };
    Type type = Type::None;
    bool has_escapes = false;
    const TmU8* begin = nullptr;
    const TmU8* end = nullptr;
};

TOKENMILL_HD constexpr bool is_white(TmU32 c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
TOKENMILL_HD constexpr bool is_digit(TmU32 c) {
    return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit; 255 for other bytes.
TOKENMILL_HD constexpr TmU32 hex_digit(TmU32 c) {
    const TmU32 folded = c | 0x20;
    return is_digit(c) ? c - '0' : folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : 255;
}

// The byte that `\c` means; 0 if it is not an escape, 'u' for the one with four digits.
TOKENMILL_HD constexpr TmU32 escape_of(TmU32 c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
        case 'u':
            return c;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

// The halves of a UTF-16 pair, and the character that two of them are.
TOKENMILL_HD constexpr bool is_high_half(TmU32 code) {
    return code >> 10 == 0x36;
}
TOKENMILL_HD constexpr bool is_low_half(TmU32 code) {
    return code >> 10 == 0x37;
}
TOKENMILL_HD constexpr TmU32 pair_of(TmU32 high, TmU32 low) {
    return 0x10000 + ((high & 0x3FF) << 10 | (low & 0x3FF));
}

}  // namespace tokenmill::read
