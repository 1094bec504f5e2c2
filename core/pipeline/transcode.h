// transcode: a text as the caller holds it -> UTF-8. Internal to pipeline.
#pragma once

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// The most bytes of UTF-8 that `text` can become.
[[nodiscard]] std::size_t utf8_bound(const Text& text) noexcept;

// Writes code points of a fixed width (Latin1, Ucs2, Ucs4) as UTF-8 to `out`, which has room for
// utf8_bound(text) bytes and belongs to the caller. Returns the bytes written. A lone surrogate
// becomes U+FFFD if `replace`, else Error(InvalidUtf8) names `document`.
std::size_t transcode(const Text& text, bool replace, std::size_t document, std::uint8_t* out);

// Throws Error(InvalidUtf8) for the first bad byte of `bytes`, which are not UTF-8.
[[noreturn]] void refuse_bytes(Bytes bytes, std::size_t document);

}  // namespace tokenmill::pipeline
