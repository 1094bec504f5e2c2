// options: structures of options, whose size tells the version that the caller was compiled with.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "errors.h"

namespace tokenmill::capi {

// The caller's options; members that its version does not have are as in `defaults`. Null means
// the defaults.
template <typename Options>
[[nodiscard]] Options options_of(const Options* given, Options defaults) {
    if (given == nullptr) {
        return defaults;
    }
    const std::size_t size = given->struct_size;
    if (size < sizeof(std::size_t) || size > 4096) {
        throw CallError(TOKENMILL_BAD_ARGUMENT, "options: expected a struct_size, got " +
                                                    std::to_string(size) +
                                                    "; hint: start with the INIT macro");
    }
    std::memcpy(&defaults, given, std::min(size, sizeof(Options)));
    return defaults;
}

// Throws BAD_ARGUMENT unless 0 <= value <= most.
inline int checked(const char* name, int value, int most) {
    if (value < 0 || value > most) {
        throw CallError(TOKENMILL_BAD_ARGUMENT, std::string(name) + ": expected 0 to " +
                                                    std::to_string(most) + ", got " +
                                                    std::to_string(value));
    }
    return value;
}

}  // namespace tokenmill::capi
