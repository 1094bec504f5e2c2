// unicode/utf8: what is wrong with a byte string, and the repaired one. Cold: scanners check whole
// blocks first and come here only to find the place.
#pragma once

#include <vector>

#include "base/types.h"

namespace tokenmill::unicode {

struct Fault {
    std::size_t offset;
    std::size_t size;  // bytes of the maximal ill-formed part; 0: the text is well-formed
};

// The first ill-formed part at or behind `from`.
[[nodiscard]] Fault find_fault(Bytes text, std::size_t from = 0) noexcept;

// Appends `text` with U+FFFD for every maximal ill-formed part.
//   "a\xFFb" -> "a\xEF\xBF\xBDb"
void append_repaired(Bytes text, std::vector<std::uint8_t>& out);

// Bytes that `code` takes, and writes it; surrogates are the caller's matter.
inline std::size_t append_code(std::uint32_t code, std::uint8_t* out) noexcept {
    if (code < 0x80) {
        out[0] = static_cast<std::uint8_t>(code);
        return 1;
    }
    if (code < 0x800) {
        out[0] = static_cast<std::uint8_t>(0xC0 | code >> 6);
        out[1] = static_cast<std::uint8_t>(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = static_cast<std::uint8_t>(0xE0 | code >> 12);
        out[1] = static_cast<std::uint8_t>(0x80 | (code >> 6 & 63));
        out[2] = static_cast<std::uint8_t>(0x80 | (code & 63));
        return 3;
    }
    out[0] = static_cast<std::uint8_t>(0xF0 | code >> 18);
    out[1] = static_cast<std::uint8_t>(0x80 | (code >> 12 & 63));
    out[2] = static_cast<std::uint8_t>(0x80 | (code >> 6 & 63));
    out[3] = static_cast<std::uint8_t>(0x80 | (code & 63));
    return 4;
}

}  // namespace tokenmill::unicode
