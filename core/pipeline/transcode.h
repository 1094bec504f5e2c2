// transcode: a text as the caller holds it -> UTF-8. Internal to pipeline.
#pragma once

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// The most bytes of UTF-8 that `text` can become.
[[nodiscard]] std::size_t utf8_bound(const Text& text) noexcept;

// The units of a text: bytes where it is UTF-8.
[[nodiscard]] CodeUnits units_of(const Text& text) noexcept;

// Writes all units and returns the bytes: see transcode().
std::size_t write_utf8(const CodeUnits& units, const EncodeKernel& kernel, bool replace,
                       std::size_t document, std::uint8_t* out);

// Writes code points of a fixed width (Latin1, Ucs2, Ucs4) as UTF-8 to memory of a sink. A lone
// surrogate becomes U+FFFD if `replace`, else Error(InvalidUtf8) names `document`. For a short text
// more memory is taken than needed and given back: counting would take half as long again.
template <typename Sink>
[[nodiscard]] Bytes transcode(const Text& text, const EncodeKernel& kernel, bool replace,
                              std::size_t document, Sink& sink) {
    constexpr std::size_t kShort = std::size_t{1} << 16;
    const CodeUnits units = units_of(text);
    const std::size_t bound = utf8_bound(text);
    const std::size_t room = bound <= kShort ? bound : kernel.utf8_size(units);
    std::uint8_t* out = sink.take_memory(room + kTranscodeSlack);
    const std::size_t size = write_utf8(units, kernel, replace, document, out);
    sink.give_back(room - size);
    return {out, size};
}

// Throws Error(InvalidUtf8) for the first bad byte of `bytes`, which are not UTF-8.
[[noreturn]] void refuse_bytes(Bytes bytes, std::size_t document);

}  // namespace tokenmill::pipeline
