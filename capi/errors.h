// errors: what goes wrong in a call of the C interface -> a status and a message. No exception
// leaves a function of tokenmill.h.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "tokenmill.h"

namespace tokenmill::capi {

// Thrown by this room for what the core has no code for.
class CallError : public std::runtime_error {
public:
    CallError(tokenmill_status what_status, const std::string& message)
        : std::runtime_error(message), status(what_status) {}
    tokenmill_status status;
};

// Inside of a handler: keeps the message of the exception for this thread, returns its status.
[[nodiscard]] tokenmill_status status_of_exception() noexcept;

// Runs the body of a function. Whatever it throws becomes a status.
template <typename Work>
[[nodiscard]] tokenmill_status guarded(const Work& work) noexcept {
    try {
        work();
        return TOKENMILL_OK;
    } catch (...) {
        return status_of_exception();
    }
}

// Throws BAD_ARGUMENT: a null pointer where there must be something.
template <typename T>
void require(T* pointer, const char* name) {
    if (pointer == nullptr) {
        throw CallError(TOKENMILL_BAD_ARGUMENT,
                        std::string(name) + ": expected a pointer, got null");
    }
}
// The same where null is fine for a size of 0.
template <typename T>
void require_if(std::size_t size, T* pointer, const char* name) {
    if (size != 0) {
        require(pointer, name);
    }
}

}  // namespace tokenmill::capi
