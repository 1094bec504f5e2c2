// A literal text in another. Indoors of normalize.
#pragma once

#include <cstring>
#include <string_view>

namespace tokenmill::normalize {

// Where `wanted` stands at or behind `from`, or npos. Looks for the byte of it that text has least:
// a blank in front of a rare character would stop a search at every word.
inline std::size_t find_literal(std::string_view text, std::string_view wanted, std::size_t from) {
    const auto is_wide = [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; };
    if (is_wide(wanted.front()) || !is_wide(wanted.back())) {
        return text.find(wanted, from);
    }
    const std::size_t last = wanted.size() - 1;
    for (std::size_t at = from + last; at < text.size(); ++at) {
        at = text.find(wanted.back(), at);
        if (at == std::string_view::npos) {
            break;
        }
        if (std::memcmp(text.data() + at - last, wanted.data(), last) == 0) {
            return at - last;
        }
    }
    return std::string_view::npos;
}

}  // namespace tokenmill::normalize
