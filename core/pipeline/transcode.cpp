// transcode: a text as the caller holds it -> UTF-8.
#include "pipeline/transcode.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

// Code points of one width -> UTF-8; returns the bytes written. Python strings may hold lone
// surrogates, which UTF-8 has no bytes for: the loop stops at the first one that may not be
// replaced, and `fault` is then its position in characters.
template <typename Char>
std::size_t encode_utf8(std::span<const Char> from, bool replace, std::uint8_t* out,
                        std::size_t& fault) {
    std::uint8_t* at = out;
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::uint32_t code = from[i];
        if (code < 0x80) {  // most characters, even of texts that are not all ASCII
            *at++ = static_cast<std::uint8_t>(code);
            continue;
        }
        if (is_surrogate(code)) {
            if (!replace) {
                fault = i;
                break;
            }
            code = kReplacement;
        }
        at += encode_char(code, at);
    }
    return static_cast<std::size_t>(at - out);
}

template <typename Char>
std::span<const Char> units_of(const Text& text) {
    return {static_cast<const Char*>(text.data), text.size};
}

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

std::size_t transcode(const Text& text, bool replace, std::size_t document, std::uint8_t* out) {
    std::size_t fault = Error::kNowhere;
    std::size_t size = 0;
    switch (text.encoding) {
        case Text::Encoding::Latin1:
            size = encode_utf8(units_of<std::uint8_t>(text), replace, out, fault);
            break;
        case Text::Encoding::Ucs2:
            size = encode_utf8(units_of<std::uint16_t>(text), replace, out, fault);
            break;
        default:
            size = encode_utf8(units_of<std::uint32_t>(text), replace, out, fault);
            break;
    }
    if (fault != Error::kNowhere) {
        throw Error(
            ErrorCode::InvalidUtf8,
            "character " + std::to_string(fault) + " is a lone surrogate, which has no UTF-8", size,
            document);
    }
    return size;
}

void refuse_bytes(Bytes bytes, std::size_t document) {
    const std::size_t at = unicode::find_fault(bytes).offset;
    throw Error(ErrorCode::InvalidUtf8, "expected UTF-8, got byte " + std::to_string(bytes[at]), at,
                document);
}

}  // namespace tokenmill::pipeline
