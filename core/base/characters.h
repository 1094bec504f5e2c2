// Characters of UTF-8 that is known to be well formed.
#pragma once

#include <algorithm>

#include "base/types.h"

namespace tokenmill {

// Bytes of the character that starts with `lead`.
[[nodiscard]] inline std::size_t char_bytes(std::uint8_t lead) noexcept {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The code point of a character of three bytes: 1110aaaa 10bbbbbb 10cccccc -> aaaabbbbbbcccccc.
[[nodiscard]] inline std::uint32_t decode3(const std::uint8_t* at) noexcept {
    return (at[0] & 15U) << 12 | (at[1] & 63U) << 6 | (at[2] & 63U);
}

[[nodiscard]] inline std::size_t count_characters(Bytes text) noexcept {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](std::uint8_t byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace tokenmill
