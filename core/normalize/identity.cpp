#include "normalize/normalize.h"
#include "normalize/scan.h"
#include "unicode/unicode.h"

#include <algorithm>
#include <string_view>

namespace tokenmill::normalize {

namespace {

// Flags that are changes in themselves, wherever the character stands.
constexpr auto kCertain =
    static_cast<unicode::Flags>(~(unicode::kCombines | unicode::kMaybe | unicode::kTakes));

// Walks back from a mark; longer rows of marks count as uncertain, which bounds the cost.
constexpr int kMaxMarks = 32;

std::string_view view(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_ascii_capital(Bytes text) noexcept {
    // Without an early exit the loop is vectorized; a block at a time bounds the waste.
    constexpr std::size_t kBlock = 4096;
    for (std::size_t begin = 0; begin < text.size(); begin += kBlock) {
        unsigned found = 0;
        for (const std::uint8_t byte : text.subspan(begin, std::min(kBlock, text.size() - begin))) {
            found |= static_cast<std::uint8_t>(byte - 'A') < 26 ? 1U : 0U;
        }
        if (found != 0) {
            return true;
        }
    }
    return false;
}

// Whether a character that composes with some others surely stays apart from the starter before it.
// A starter that itself decomposes is uncertain: its parts and the mark may compose otherwise,
// U+00E2 U+0323 -> U+1EAD.
bool stays_apart(const std::uint8_t* begin, const std::uint8_t* at) noexcept {
    const char32_t mark = unicode::read_character(at).point;
    for (int steps = 0; at != begin; ++steps) {
        if (steps == kMaxMarks) {
            return false;
        }
        at = unicode::previous_character(at);
        const char32_t before = unicode::read_character(at).point;
        const unicode::Flags flags = unicode::flags_of(before);
        if ((flags & unicode::kCombines) == 0) {
            return (flags & unicode::kNotNfd) == 0 && unicode::compose(before, mark) == 0;
        }
    }
    return true;
}

// Whether the character at `at` stays behind the one before it.
bool keeps_order(const std::uint8_t* begin, const std::uint8_t* at) noexcept {
    const std::uint8_t own = unicode::combining_class(unicode::read_character(at).point);
    if (at == begin || own == 0) {
        return true;
    }
    const std::uint8_t* const before = unicode::previous_character(at);
    return unicode::combining_class(unicode::read_character(before).point) <= own;
}

// Whether the character at `at`, whose flags of interest these are, stays as it is.
bool keeps_character(const std::uint8_t* begin, const std::uint8_t* at,
                     unicode::Flags flags) noexcept {
    return (flags & kCertain) == 0 && keeps_order(begin, at) &&
           ((flags & unicode::kMaybe) == 0 || stays_apart(begin, at));
}

// Whether no character of the text is changed, moved or composed.
bool keeps_characters(Bytes text, unicode::Flags mask) noexcept {
    const std::uint8_t* const begin = text.data();
    const std::uint8_t* const end = begin + text.size();
    const std::uint8_t* at = begin;
    while ((at = next_suspect(at, end, mask)) != end) {
        // The scan will start anew behind the row of flagged characters, so all of it is checked.
        while (at != end) {
            const unicode::Character character = unicode::read_character(at);
            const auto flags =
                static_cast<unicode::Flags>(unicode::flags_of(character.point) & mask);
            if (flags == 0) {
                break;
            }
            if (!keeps_character(begin, at, flags)) {
                return false;
            }
            at += character.size;
        }
    }
    return true;
}

bool keeps_ends(const Step& step, Bytes text) noexcept {
    if (text.empty()) {
        return true;
    }
    const std::uint8_t* const last = unicode::previous_character(text.data() + text.size());
    const bool strips_left =
        step.left && unicode::is_white_space(unicode::read_character(text.data()).point);
    const bool strips_right =
        step.right && unicode::is_white_space(unicode::read_character(last).point);
    return !strips_left && !strips_right;
}

bool keeps_text(const Step& step, Bytes text) noexcept {
    switch (step.kind) {
        case Kind::Strip:
            return keeps_ends(step, text);
        case Kind::Replace:
            return step.from == step.to ||
                   view(text).find(view(step.from)) == std::string_view::npos;
        case Kind::Prepend:
            return text.empty() || step.to.empty();
        case Kind::Lowercase:
            return !has_ascii_capital(text);
        case Kind::Nfc:
        case Kind::Nfd:
        case Kind::Nfkc:
        case Kind::Nfkd:
        case Kind::StripAccents:
            return true;  // about characters alone: see char_mask
    }
    return false;
}

}  // namespace

bool is_identity(const Program& program, Bytes text) noexcept {
    const auto keeps = [text](const Step& step) { return keeps_text(step, text); };
    return std::all_of(program.steps.begin(), program.steps.end(), keeps) &&
           (program.char_mask == 0 || keeps_characters(text, program.char_mask));
}

}  // namespace tokenmill::normalize
