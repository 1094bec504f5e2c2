#include <algorithm>
#include <string_view>

#include "normalize/fused.h"
#include "normalize/literal.h"
#include "normalize/normalize.h"
#include "normalize/pattern.h"
#include "normalize/scan.h"
#include "normalize/steps.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

// Flags of characters that change, whatever their neighbours are.
constexpr auto kCertain =
    static_cast<unicode::Flags>(~(unicode::kCombines | unicode::kMaybe | unicode::kTakes));

// Walks back from a mark; longer rows of marks count as uncertain, which bounds the cost.
constexpr int kMaxMarks = 32;

std::string_view view(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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
        at = previous_char(at);
        const char32_t before = unicode::read_character(at).point;
        const unicode::Flags flags = unicode::flags_of(before);
        if ((flags & unicode::kCombines) == 0) {
            return (flags & unicode::kNotNfd) == 0 && unicode::compose(before, mark) == 0;
        }
    }
    return true;
}

// Whether the character at `at` stays after the one before it.
bool keeps_order(const std::uint8_t* begin, const std::uint8_t* at) noexcept {
    const std::uint8_t own = unicode::combining_class(unicode::read_character(at).point);
    if (at == begin || own == 0) {
        return true;
    }
    const std::uint8_t* const before = previous_char(at);
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
        // The scan restarts after the row of flagged characters, so all of the row is checked.
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
    const std::uint8_t* const last = previous_char(text.data() + text.size());
    const bool strips_left =
        step.left && unicode::is_white_space(unicode::read_character(text.data()).point);
    const bool strips_right =
        step.right && unicode::is_white_space(unicode::read_character(last).point);
    return !strips_left && !strips_right;
}

bool keeps_text(const Step& step, Bytes text) {
    switch (step.kind) {
        case StepKind::Nfc:
        case StepKind::Nfd:
        case StepKind::Nfkc:
        case StepKind::Nfkd:
            return keeps_characters(text, mask_of(step.kind));
        case StepKind::Strip:
            return keeps_ends(step, text);
        case StepKind::Replace:
            return step.from == step.to ||
                   find_literal(view(text), view(step.from), 0) == std::string_view::npos;
        case StepKind::ReplacePattern:
            return step.pattern->find(text, 0).begin == text.size();
        case StepKind::Prepend:
            return text.empty() || step.to.empty();
        default:
            return text.empty();
    }
}

bool is_literal(const Program& program, const StepGroup& group) noexcept {
    return group.end - group.begin == 1 && program.steps[group.begin].kind == StepKind::Replace;
}

}  // namespace

bool is_identity(const Program& program, Bytes text) {
    return std::all_of(program.groups.begin(), program.groups.end(), [&](const StepGroup& group) {
        // One literal is found faster than every character is looked up.
        return group.memo != nullptr && !is_literal(program, group)
                   ? keeps_text(*group.memo, text)
                   : keeps_text(program.steps[group.begin], text);
    });
}

bool keeps_parts(const Program& program, Bytes text) {
    return std::all_of(program.groups.begin(), program.groups.end(), [&](const StepGroup& group) {
        return is_literal(program, group) && keeps_text(program.steps[group.begin], text);
    });
}

}  // namespace tokenmill::normalize
