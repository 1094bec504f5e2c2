// normalize/fused: text -> rewritten text, by a row of local steps in one pass with a memo.
#pragma once

#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "normalize/memo.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

// Whether the steps certainly leave the text alone.
[[nodiscard]] bool keeps_text(const Memo& memo, Bytes text);

// Replaces the content of `out` by the rewritten text.
void run_fused(const Memo& memo, Bytes text, Buffer& out, const Stop* stop);

// The same with spans; `spans` holds the origin of each byte of `text`.
void run_fused(const Memo& memo, Bytes text, const Span* spans, AlignedText& out, const Stop* stop);

}  // namespace tokenmill::normalize
