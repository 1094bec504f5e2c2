// transcode: a text as the caller holds it -> UTF-8.
#include "pipeline/transcode.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

// The most bytes of UTF-8 that one unit of the encoding can become.
std::size_t bytes_per_unit(Text::Encoding encoding) noexcept {
    switch (encoding) {
        case Text::Encoding::Utf8:
        case Text::Encoding::Trusted:
            return 1;
        case Text::Encoding::Latin1:
            return 2;
        case Text::Encoding::Ucs2:
            return 3;
        case Text::Encoding::Ucs4:
            return 4;
    }
    return 4;
}

}  // namespace

std::size_t utf8_bound(const Text& text) noexcept {
    return bytes_per_unit(text.encoding) * text.size;
}

CodeUnits units_of(const Text& text) noexcept {
    switch (text.encoding) {
        case Text::Encoding::Ucs2:
            return {text.data, text.size, 2};
        case Text::Encoding::Ucs4:
            return {text.data, text.size, 4};
        default:
            return {text.data, text.size, 1};
    }
}

// Python strings may hold lone surrogates, which UTF-8 has no bytes for: the kernel stops there.
std::size_t write_utf8(const CodeUnits& units, const EncodeKernel& kernel, bool replace,
                       std::size_t document, std::uint8_t* out) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    Transcoded done{0, 0};
    for (;;) {
        const auto* rest = static_cast<const std::uint8_t*>(units.data) + done.units * units.width;
        const Transcoded more =
            kernel.transcode({rest, units.size - done.units, units.width}, out + done.bytes);
        done = {done.units + more.units, done.bytes + more.bytes};
        if (done.units == units.size) {
            return done.bytes;
        }
        if (!replace) {
            throw Error(ErrorCode::InvalidUtf8,
                        "character " + std::to_string(done.units) +
                            " is a lone surrogate, which UTF-8 cannot hold",
                        done.bytes, document);
        }
        done.bytes += encode_char(kReplacement, out + done.bytes);
        ++done.units;
    }
}

void refuse_bytes(Bytes bytes, std::size_t document) {
    const std::size_t at = unicode::find_fault(bytes).offset;
    throw Error(ErrorCode::InvalidUtf8, "expected UTF-8, got byte " + std::to_string(bytes[at]), at,
                document);
}

}  // namespace tokenmill::pipeline
