// unicode/repair: bytes -> where they are not UTF-8, or the repaired text. Cold: scanners check
// whole blocks first and come here only to find the place.
#pragma once

#include <vector>

#include "base/types.h"

namespace tokenmill::unicode {

struct Fault {
    std::size_t offset;
    std::size_t size;  // bytes of the maximal ill-formed part; 0: the text is well-formed
};

// The first ill-formed part at or after `from`.
[[nodiscard]] Fault find_fault(Bytes text, std::size_t from = 0) noexcept;

// Appends `text` with U+FFFD for every maximal ill-formed part.
//   "a\xFFb" -> "a\xEF\xBF\xBDb"
void append_repaired(Bytes text, std::vector<std::uint8_t>& out);

}  // namespace tokenmill::unicode
