// base/types: bytes, ranges and ids, which every room shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tokenmill {

using Bytes = std::span<const std::uint8_t>;
using TokenId = std::uint32_t;

// Half-open range of byte positions within one document.
struct ByteRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

}  // namespace tokenmill
