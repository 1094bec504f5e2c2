// base/adjacency: which neighbours belong together, by the classes of their bytes. vocab learns it
// from its tokens, split cuts by it. All bytes outside ASCII are in one class.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace tokenmill {

enum class ByteClass : std::uint32_t {
    Letter = 0,
    Digit = 1,
    Blank = 2,
    Newline = 3,
    Control = 4,  // the other white space of ASCII
    Other = 5,
    Wide = 6,
};
constexpr std::size_t kByteClasses = 7;

[[nodiscard]] inline ByteClass class_of_byte(std::uint8_t byte) noexcept {
    const auto folded = static_cast<std::uint8_t>(byte | 0x20);
    if (byte >= 0x80) {
        return ByteClass::Wide;
    }
    if (folded >= 'a' && folded <= 'z') {
        return ByteClass::Letter;
    }
    if (byte >= '0' && byte <= '9') {
        return ByteClass::Digit;
    }
    if (byte == ' ') {
        return ByteClass::Blank;
    }
    if (byte == '\n') {
        return ByteClass::Newline;
    }
    return byte >= 9 && byte <= 13 ? ByteClass::Control : ByteClass::Other;
}

struct Adjacency {
    static constexpr std::size_t kMaxExceptions = 8;

    std::uint8_t joins[8] = {};  // [right]: bit `left` is set where the two belong together
    std::uint32_t exception_count =
        0;  // pairs of bytes that belong together though their classes do not
    std::uint8_t exceptions[kMaxExceptions][2] = {};

    [[nodiscard]] bool joined(std::uint8_t left, std::uint8_t right) const noexcept {
        for (std::uint32_t i = 0; i < exception_count; ++i) {
            if (exceptions[i][0] == left && exceptions[i][1] == right) {
                return true;
            }
        }
        return (joins[static_cast<std::size_t>(class_of_byte(right))] >>
                    static_cast<unsigned>(class_of_byte(left)) &
                1) != 0;
    }
};

// Where a word may be cut inside: between characters that no token joins. A character counts as its
// first byte here.
struct InsideCuts {
    std::uint8_t joins[8] = {};           // as in Adjacency: pairs of classes that need no look-up
    std::uint64_t together[256][4] = {};  // [left]: bit `right` is set where no cut may be

    void join(std::uint8_t left, std::uint8_t right) noexcept {
        together[left][right >> 6] |= std::uint64_t{1} << (right & 63);
    }
    // 1 where the characters before and at `at` must stay together, else 0.
    [[nodiscard]] std::uint64_t joined(const std::uint8_t* at) const noexcept {
        const std::uint8_t* left = at - 1;
        while (is_continuation(*left)) {
            --left;
        }
        return together[*left][*at >> 6] >> (*at & 63) & 1;
    }
};

// What a vocabulary knows about neighbours.
struct LearntCuts {
    Adjacency adjacency;  // if the tokenizer has no split
    InsideCuts inside;    // if words are looked up
};

}  // namespace tokenmill
