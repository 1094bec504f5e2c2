// transcode: a text as the caller holds it -> UTF-8. Internal to pipeline.
#pragma once

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// The most bytes of UTF-8 that `text` can become.
[[nodiscard]] std::size_t utf8_bound(const Text& text) noexcept;

// A text of a fixed width.
[[nodiscard]] CodeUnits units_of(const Text& text) noexcept;

// Writes all units and returns the bytes: see transcode().
std::size_t write_utf8(const CodeUnits& units, const EncodeKernel& kernel, bool replace,
                       std::size_t document, std::uint8_t* out);

// Writes code points of a fixed width (Latin1, Ucs2, Ucs4) as UTF-8 to memory that `take(size)`
// returns. A lone surrogate becomes U+FFFD if `replace`, else Error(InvalidUtf8) names `document`.
template <typename Take>
[[nodiscard]] Bytes transcode(const Text& text, const EncodeKernel& kernel, bool replace,
                              std::size_t document, const Take& take) {
    const CodeUnits units = units_of(text);
    std::uint8_t* out = take(kernel.utf8_size(units) + kTranscodeSlack);
    return {out, write_utf8(units, kernel, replace, document, out)};
}

// Throws Error(InvalidUtf8) for the first bad byte of `bytes`, which are not UTF-8.
[[noreturn]] void refuse_bytes(Bytes bytes, std::size_t document);

}  // namespace tokenmill::pipeline
