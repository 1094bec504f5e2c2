// utf16: places in characters -> places in code units of UTF-16.
#pragma once

#include <cstdint>
#include <span>

#include "base/types.h"

namespace tokenmill::capi {

// Changes `places`, which are characters of `text`, one code point each. A character of four bytes
// of UTF-8 is two units, every other one a single unit. Bytes that are not UTF-8 count as the
// characters that replace them.
void to_utf16(Bytes text, std::span<std::uint32_t> places);

}  // namespace tokenmill::capi
