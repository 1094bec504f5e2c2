// What can be wrong with input, as codes; one exception carries them out of the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tokenmill {

enum class ErrorCode : std::uint8_t {
    Ok = 0,
    InvalidUtf8,       // bytes that are not UTF-8; offset is the first bad byte
    NotText,           // a document that is not text
    SpecialInText,     // a special token's text, which the caller forbade
    IdOutOfRange,      // an id the vocabulary does not have
    IdTooLargeForU16,  // an id above 65535 where uint16 was asked for
    OutputTooSmall,    // the caller's buffer cannot hold the ids
    CorruptModel,      // a compiled model whose sections contradict each other
    BadSpec,           // a tokenizer definition that cannot be compiled
    TooLongForSpans,   // a document whose places do not fit 32 bits
    BadArgument,       // lengths, places or options that contradict each other
    DeadlineExceeded,  // the time that the caller gave is over
    DeviceFailed,      // a call of a device's driver that returned an error
    Cancelled,         // another thread no longer wants the result
    TextTooLong,       // more text than a session may hold: "size limit", in bytes
};

// Thrown on cold paths only. `document` and `offset` are set when they are known.
class Error : public std::runtime_error {
public:
    static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

    Error(ErrorCode error_code, const std::string& what_is_wrong, std::size_t at = kNowhere,
          std::size_t in_document = kNowhere)
        : std::runtime_error(what_is_wrong), code(error_code), offset(at), document(in_document) {}

    ErrorCode code;
    std::size_t offset;
    std::size_t document;
};

}  // namespace tokenmill
