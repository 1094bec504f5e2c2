// incoming: text that is appended to a session -> whole characters in UTF-8. Internal to pipeline.
#pragma once

#include <array>
#include <vector>

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// Whole characters, and the first bytes of one whose rest has not come yet.
struct Incoming {
    Bytes text;  // borrowed from the caller or the reader
    std::array<std::uint8_t, 3> pending{};
    std::size_t pending_size = 0;
};

// Bytes at the end that are the beginning of a character.
[[nodiscard]] std::size_t unfinished_size(Bytes bytes) noexcept;

class IncomingReader {
public:
    IncomingReader(const EncodeKernel& kernel, bool replace_invalid) noexcept
        : kernel_(kernel), replace_invalid_(replace_invalid) {}

    // Strings are whole characters; bytes may end inside one, which `before` may have begun.
    // Throws Error(InvalidUtf8) with the place in `text`.
    [[nodiscard]] Incoming read(const Text& text, const Incoming& before);
    [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_.capacity(); }

private:
    [[nodiscard]] Incoming read_bytes(Bytes bytes, std::size_t held);

    const EncodeKernel& kernel_;
    bool replace_invalid_;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace tokenmill::pipeline
