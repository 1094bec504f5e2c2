// The four normalization forms of a stretch of characters that depend on each other.
#pragma once

#include "base/types.h"
#include "normalize/normalize.h"

#include <cstdint>
#include <vector>

namespace tokenmill::normalize {

// A decomposed character, its combining class, and what it changes (see Cursor).
struct Part {
    char32_t point = 0;
    std::uint8_t combining_class = 0;
    int change = 0;
};

// Replaces `parts` by the form of `stretch`.
// Needs: neither end of the stretch can interact with its neighbours, kind is one of the forms.
void make_form(Kind kind, Bytes stretch, std::vector<Part>& parts);

// Whether the character may move before what stands in front of it, or melt into it, in any form.
[[nodiscard]] bool joins_forms(char32_t point) noexcept;

}  // namespace tokenmill::normalize
