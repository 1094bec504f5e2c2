// The four normalization forms of a stretch of characters that depend on each other.
#pragma once

#include "base/types.h"
#include "normalize/normalize.h"

#include <cstdint>
#include <vector>

namespace tokenmill::normalize {

// A decomposed character and its combining class.
struct Part {
    char32_t point = 0;
    std::uint8_t combining_class = 0;
};

// Appends the form of `stretch` to `out`; `parts` is scratch memory, kept between calls.
// Needs: neither end of the stretch can interact with its neighbours, kind is one of the forms.
void append_form(Kind kind, Bytes stretch, std::vector<Part>& parts,
                 std::vector<std::uint8_t>& out);

// Appends one character as UTF-8.
void append_character(char32_t point, std::vector<std::uint8_t>& out);

}  // namespace tokenmill::normalize
