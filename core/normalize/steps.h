// normalize/steps: text -> text rewritten by one step.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

// Writes the text as rewritten by one step to `out`, which is empty.
void run_step(const Step& step, Bytes text, Buffer& out, const Stop* stop);

// The same with spans; `spans` holds the origin of each byte of `text`.
void run_step(const Step& step, Bytes text, const Span* spans, AlignedText& out, const Stop* stop);

// Flags of the characters that a form or a removal of marks may change.
[[nodiscard]] std::uint16_t mask_of(StepKind kind) noexcept;

// Whether the step looks at one character, or at one and its neighbours.
[[nodiscard]] bool is_local(const Step& step) noexcept;

// Whether the result for the character depends on its neighbours, or theirs on it.
// Needs: is_local(step).
[[nodiscard]] bool joins(const Step& step, char32_t point) noexcept;

// Whether joins() can be true.
[[nodiscard]] bool is_contextual(const Step& step) noexcept;

}  // namespace tokenmill::normalize
