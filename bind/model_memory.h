// model_memory: the bytes of a compiled model, held for as long as it is used.
#pragma once

#include <cstring>

#include "base/blob.h"
#include "base/buffer.h"
#include "bind.h"

namespace tokenmill::bind {

// The bytes of a model, aligned as the core needs them; copied only if the caller's are not.
class ModelMemory {
public:
    explicit ModelMemory(nb::handle object) : buffer_(object), bytes_(buffer_.bytes()) {
        if (reinterpret_cast<std::uintptr_t>(bytes_.data()) % kBlobAlign != 0 && !bytes_.empty()) {
            copy_ = PageBuffer(bytes_.size());
            std::memcpy(copy_.data(), bytes_.data(), bytes_.size());
            bytes_ = {copy_.data(), bytes_.size()};
            buffer_.release();
        }
    }
    [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }

private:
    HeldBuffer buffer_;
    PageBuffer copy_;
    Bytes bytes_;
};

}  // namespace tokenmill::bind
