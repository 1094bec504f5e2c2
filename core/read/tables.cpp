#include <algorithm>

#include "read/kernel.h"

namespace tokenmill::read {

namespace {

constexpr std::uint8_t hex_digit(unsigned c) noexcept {
    if (c >= '0' && c <= '9') {
        return static_cast<std::uint8_t>(c - '0');
    }
    const unsigned folded = c | 0x20;
    return static_cast<std::uint8_t>(folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : 255);
}

constexpr ByteTable make_escapes() noexcept {
    ByteTable table = {};
    constexpr char kFrom[] = "\"\\/bfnrtu";
    constexpr char kTo[] = "\"\\/\b\f\n\r\tu";
    for (unsigned i = 0; kFrom[i] != 0; ++i) {
        table[static_cast<std::uint8_t>(kFrom[i])] = static_cast<std::uint8_t>(kTo[i]);
    }
    return table;
}

constexpr ByteTable make_digits() noexcept {
    ByteTable table = {};
    for (unsigned c = 0; c < 256; ++c) {
        table[c] = hex_digit(c);
    }
    return table;
}

}  // namespace

constinit const ByteTable kEscapes = make_escapes();
constinit const ByteTable kHexDigits = make_digits();

}  // namespace tokenmill::read
