#include "unicode/repair.h"

#include "base/utf8.h"

namespace tokenmill::unicode {

namespace {

// The bytes a lead asks for: how many follow, and the bounds of the first of them.
struct Shape {
    unsigned follow;
    std::uint8_t low;
    std::uint8_t high;
};

Shape shape_of(std::uint8_t lead) noexcept {
    if (lead < 0xC2 || lead > 0xF4) {
        return {0, 0, 0};
    }
    if (lead < 0xE0) {
        return {1, 0x80, 0xBF};
    }
    if (lead < 0xF0) {
        return {2, static_cast<std::uint8_t>(lead == 0xE0 ? 0xA0 : 0x80),
                static_cast<std::uint8_t>(lead == 0xED ? 0x9F : 0xBF)};
    }
    return {3, static_cast<std::uint8_t>(lead == 0xF0 ? 0x90 : 0x80),
            static_cast<std::uint8_t>(lead == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

Fault find_fault(Bytes text, std::size_t from) noexcept {
    for (std::size_t at = from; at < text.size();) {
        if (text[at] < 0x80) {
            ++at;
            continue;
        }
        const Shape shape = shape_of(text[at]);
        std::size_t size = 1;
        while (size <= shape.follow && at + size < text.size()) {
            const std::uint8_t byte = text[at + size];
            const bool fits =
                size == 1 ? byte >= shape.low && byte <= shape.high : is_continuation(byte);
            if (!fits) {
                break;
            }
            ++size;
        }
        if (shape.follow == 0 || size <= shape.follow) {
            return {at, size};
        }
        at += size;
    }
    return {text.size(), 0};
}

void append_repaired(Bytes text, std::vector<std::uint8_t>& out) {
    static constexpr std::uint8_t kReplacement[3] = {0xEF, 0xBF, 0xBD};
    for (std::size_t at = 0; at < text.size();) {
        const Fault fault = find_fault(text, at);
        out.insert(out.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(fault.offset));
        if (fault.size == 0) {
            return;
        }
        out.insert(out.end(), kReplacement, kReplacement + 3);
        at = fault.offset + fault.size;
    }
}

}  // namespace tokenmill::unicode
