// normalize/pattern: text -> the next match of a regular expression, by a DFA over classes of code
// points.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace tokenmill::normalize {

class Pattern {
public:
    // Numbers of four bytes, low byte first: how many ranges; for each its first code point and its
    // class, in order, from 0 on; how many classes; how many states; then for every state and class
    // two bytes, one class more for the end of the text: the next state (0: none, 1: the first),
    // and in the top bit whether a match ends before this character.
    // Throws Error{CorruptModel} with `offset` as the place of the table.
    Pattern(Bytes table, std::size_t offset);

    // The leftmost match from `from` on: [begin, end), or [size, size) where there is none.
    // Needs: valid UTF-8, `from` the start of a character. No match is empty.
    [[nodiscard]] ByteRange find(Bytes text, std::size_t from) const noexcept;

private:
    void find_starts();
    void find_start_pair();
    [[nodiscard]] std::uint32_t class_of(char32_t point) const noexcept;
    [[nodiscard]] const std::uint8_t* match_end(const std::uint8_t* at,
                                                const std::uint8_t* end) const noexcept;

    std::vector<std::uint32_t> firsts_;
    std::vector<std::uint32_t> classes_;
    std::array<std::uint8_t, 128> ascii_{};
    std::array<bool, 256> may_start_{};  // by the first byte of a character
    std::array<std::uint8_t, 2>
        pair_{};  // the two bytes that every match starts with, if has_pair_
    bool has_pair_ = false;
    std::uint32_t width_ = 0;  // classes and the end of the text
    std::vector<std::uint16_t> next_;
};

}  // namespace tokenmill::normalize
