#include "utf16.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"

namespace tokenmill::capi {

namespace {

// The numbers of the characters of four bytes, counted from 0. Of well-formed text; in other text
// a byte that begins no character is replaced, too, but never has two units.
std::vector<std::uint32_t> wide_characters(Bytes text) {
    std::vector<std::uint32_t> numbers;
    std::uint32_t number = 0;
    for (const std::uint8_t byte : text) {
        if (is_continuation(byte)) {
            continue;
        }
        if (byte >= 0xF0) {
            numbers.push_back(number);
        }
        ++number;
    }
    return numbers;
}

}  // namespace

void to_utf16(Bytes text, std::span<std::uint32_t> places) {
    const std::vector<std::uint32_t> wide = wide_characters(text);
    if (wide.empty()) {
        return;
    }
    std::size_t before = 0;  // wide characters before the last place: most places rise
    for (std::uint32_t& place : places) {
        while (before < wide.size() && wide[before] < place) {
            ++before;
        }
        while (before > 0 && wide[before - 1] >= place) {
            --before;
        }
        place += static_cast<std::uint32_t>(before);
    }
}

}  // namespace tokenmill::capi
