// encode: one number for a word of the batch: where it is, its size, and whether it was cut off.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenmill::encode {

// A word, or a piece of one, in the batch. The text must stay where it is until the batch is
// answered.
//
//   bit   63 .. 16   15          14        13 .. 0
//         address    kCutStart   kCutEnd   size
using Unit = std::uint64_t;
constexpr std::uint32_t kCutStart = 0x8000;
constexpr std::uint32_t kCutEnd = 0x4000;
constexpr std::uint32_t kUnitSizeMask = 0x3FFF;
constexpr std::uint32_t kLongestUnit = kUnitSizeMask - 1;

[[nodiscard]] inline const std::uint8_t* unit_begin(Unit unit) noexcept {
    return reinterpret_cast<const std::uint8_t*>(static_cast<std::uintptr_t>(unit >> 16));
}
[[nodiscard]] inline std::uint32_t unit_size(Unit unit) noexcept {
    return static_cast<std::uint32_t>(unit) & kUnitSizeMask;
}
[[nodiscard]] inline bool is_piece(Unit unit) noexcept {
    return (unit & (kCutStart | kCutEnd)) != 0;
}
[[nodiscard]] inline Unit make_unit(const std::uint8_t* begin, std::uint64_t size,
                                    std::uint64_t cuts) noexcept {
    return std::uint64_t{reinterpret_cast<std::uintptr_t>(begin)} << 16 | cuts | size;
}

}  // namespace tokenmill::encode
