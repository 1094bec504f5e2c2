// base/bytes: unaligned loads that never touch a byte outside the given range.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/platform.h"
#include "base/types.h"

namespace tokenmill {

template <typename T>
[[nodiscard]] inline T load(const std::uint8_t* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

// The first `count` (0..8) bytes as a zero-padded little-endian number.
[[nodiscard]] inline std::uint64_t load_short(const std::uint8_t* at, std::size_t count) noexcept {
    if (count >= 8) {
        return load<std::uint64_t>(at);
    }
    if (count >= 4) {  // two overlapping halves agree on the bytes they share
        const std::uint64_t low = load<std::uint32_t>(at);
        const std::uint64_t high = load<std::uint32_t>(at + count - 4);
        return low | high << (8 * (count - 4));
    }
    if (count == 0) {
        return 0;
    }
    const std::uint64_t first = at[0];
    const std::uint64_t middle = at[count / 2];
    const std::uint64_t last = at[count - 1];
    return first | middle << (8 * (count / 2)) | last << (8 * (count - 1));
}

// Bytes 8..count-1 (count in 9..16) as a zero-padded number.
[[nodiscard]] inline std::uint64_t load_upper(const std::uint8_t* at, std::size_t count) noexcept {
    return load<std::uint64_t>(at + count - 8) >> (8 * (16 - count));
}

// Two bytes as one number, the first one on top.
[[nodiscard]] constexpr unsigned byte_pair(std::uint8_t first, std::uint8_t second) noexcept {
    return static_cast<unsigned>(first) << 8U | second;
}

// The bytes from one offset to another, as tables hold them: 64 bits wide on every machine.
[[nodiscard]] inline Bytes between(Bytes bytes, std::uint64_t begin, std::uint64_t end) noexcept {
    return bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

[[nodiscard]] constexpr std::uint64_t low_bits(unsigned count) noexcept {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace tokenmill
