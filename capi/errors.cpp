#include "errors.h"

#include <new>
#include <system_error>

namespace tokenmill::capi {

namespace {

// The last message of each thread: C has no other place for it that needs no owner.
thread_local std::string last_message;
// Where even the message cannot be kept.
thread_local const char* fixed_message = "";

tokenmill_status keep(tokenmill_status status, const std::string& message) noexcept {
    try {
        last_message = message;
        fixed_message = nullptr;
    } catch (...) {
        fixed_message = "out of memory";
    }
    return status;
}

std::string place_of(const Error& error) {
    std::string place;
    if (error.document != Error::kNowhere) {
        place += "text " + std::to_string(error.document) + ": ";
    }
    if (error.offset != Error::kNowhere) {
        place += "byte " + std::to_string(error.offset) + ": ";
    }
    return place;
}

// The switch names every code, so the compiler reports one without a status.
tokenmill_status status_of(const Error& error) {
    const std::string what = error.what();
    const std::string place = place_of(error);
    switch (error.code) {
        case ErrorCode::Ok:
            break;
        case ErrorCode::InvalidUtf8:
        case ErrorCode::NotText:
            return keep(TOKENMILL_INVALID_UTF8,
                        place + what + "; hint: set invalid_utf8 to TOKENMILL_UTF8_REPLACE");
        case ErrorCode::SpecialInText:
            return keep(TOKENMILL_SPECIAL_IN_TEXT,
                        place + "the text holds the special token " + what +
                            "; hint: set special_in_text to TOKENMILL_SPECIAL_ENCODE to make it "
                            "the token, to TOKENMILL_SPECIAL_TEXT to keep it text");
        case ErrorCode::IdOutOfRange:
            return keep(TOKENMILL_UNKNOWN_ID,
                        "expected an id of the vocabulary, got " + what +
                            "; hint: only ids below the size of the vocabulary can be decoded");
        case ErrorCode::OutputTooSmall:
        case ErrorCode::IdTooLargeForU16:
            return keep(TOKENMILL_OUTPUT_TOO_SMALL, "the ids need room for " + what + " numbers");
        case ErrorCode::CorruptModel:
            return keep(TOKENMILL_CORRUPT_MODEL, what + "; hint: compile the tokenizer again");
        case ErrorCode::BadSpec:
            return keep(TOKENMILL_BAD_DEFINITION, what);
        case ErrorCode::TooLongForSpans:
            return keep(TOKENMILL_TEXT_TOO_LONG, place + "offsets need texts below 4 GiB, got " +
                                                     what +
                                                     " bytes; hint: cut the text, or "
                                                     "encode it without offsets");
        case ErrorCode::TextTooLong:
            return keep(TOKENMILL_TEXT_TOO_LONG, place + what);
        case ErrorCode::BadArgument:
            return keep(TOKENMILL_BAD_ARGUMENT, what);
        case ErrorCode::DeadlineExceeded:
        case ErrorCode::DeviceFailed:
        case ErrorCode::Cancelled:
            break;  // no function here asks for deadlines, devices or other threads
    }
    return keep(TOKENMILL_INTERNAL, what);
}

}  // namespace

tokenmill_status status_of_exception() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        try {
            return status_of(error);
        } catch (...) {  // no memory for the message
            fixed_message = "out of memory";
            return TOKENMILL_OUT_OF_MEMORY;
        }
    } catch (const CallError& error) {
        return keep(error.status, error.what());
    } catch (const std::bad_alloc&) {
        fixed_message = "out of memory";
        return TOKENMILL_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
        return keep(TOKENMILL_INTERNAL, error.what());
    } catch (...) {
        return keep(TOKENMILL_INTERNAL, "an unknown exception");
    }
}

}  // namespace tokenmill::capi

using namespace tokenmill::capi;

const char* tokenmill_error_message(void) {
    return fixed_message != nullptr ? fixed_message : last_message.c_str();
}

const char* tokenmill_status_name(tokenmill_status status) {
    static constexpr const char* kNames[] = {"OK",
                                             "BAD_ARGUMENT",
                                             "OUT_OF_MEMORY",
                                             "NO_SUCH_FILE",
                                             "CORRUPT_MODEL",
                                             "UNSUPPORTED",
                                             "INVALID_UTF8",
                                             "SPECIAL_IN_TEXT",
                                             "UNKNOWN_ID",
                                             "UNKNOWN_TOKEN",
                                             "OUTPUT_TOO_SMALL",
                                             "TEXT_TOO_LONG",
                                             "BAD_DEFINITION",
                                             "INTERNAL"};
    const auto count = static_cast<tokenmill_status>(sizeof(kNames) / sizeof(kNames[0]));
    return status < 0 || status >= count ? "?" : kNames[status];
}

#define TOKENMILL_TEXT_OF(number) #number
#define TOKENMILL_VERSION_TEXT(major, minor, patch) \
    TOKENMILL_TEXT_OF(major) "." TOKENMILL_TEXT_OF(minor) "." TOKENMILL_TEXT_OF(patch)

const char* tokenmill_version(void) {
    return TOKENMILL_VERSION_TEXT(TOKENMILL_VERSION_MAJOR, TOKENMILL_VERSION_MINOR,
                                  TOKENMILL_VERSION_PATCH);
}
