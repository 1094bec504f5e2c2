// normalize/forms: a stretch of characters that depend on each other -> its normalization form.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

// A decomposed character, its combining class, and what it changes (see Cursor).
struct FormPart {
    char32_t point = 0;
    std::uint8_t combining_class = 0;
    int change = 0;
};

// Replaces `parts` by the form of `stretch`, which may be a whole text of marks: throws where
// `stop` is due. Needs: neither end of the stretch can interact with its neighbours, kind is one of
// the forms.
void make_form(StepKind kind, Bytes stretch, std::vector<FormPart>& parts, const Stop* stop);

// Whether the character may move before the one before it, or compose with it, in any form.
[[nodiscard]] bool joins_forms(char32_t point) noexcept;

}  // namespace tokenmill::normalize
