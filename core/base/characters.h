// Characters of UTF-8 that is known to be well formed.
#pragma once

#include <algorithm>

#include "base/types.h"

namespace tokenmill {

// Bytes of the character that starts with `lead`.
[[nodiscard]] inline std::size_t char_bytes(std::uint8_t lead) noexcept {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

[[nodiscard]] inline std::size_t count_characters(Bytes text) noexcept {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](std::uint8_t byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace tokenmill
