// Where a text can be cut so that its front has the ids that it has inside the whole text.
//
// A cut is made only between an ASCII letter and a blank that an ASCII letter follows:
//
//     ... n e w | _ w o r d ...        X | ' ' Y
//
// Nothing before such a cut depends on what comes after it, if
//   * each step of the normalizer looks at one character at a time, or combines characters only
//     with marks: then the front ends in a letter, and no mark follows it;
//   * the split is one of the known rules. They have no look-ahead from a letter over a blank: a
//     run of letters ends at the blank as it ends at the end of the text;
//   * the split always has a border there (is_sync).
// That no added token lies across the cut is for the caller to know.
#include <algorithm>
#include <array>

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kSearch = std::size_t{1} << 16;

constexpr bool is_letter(std::uint32_t code) noexcept {
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

bool is_local(const normalize::Step& step) noexcept {
    switch (step.kind) {
        case normalize::StepKind::Nfc:
        case normalize::StepKind::Nfd:
        case normalize::StepKind::Nfkc:
        case normalize::StepKind::Nfkd:
        case normalize::StepKind::Lowercase:
        case normalize::StepKind::StripAccents:
        case normalize::StepKind::StripNonspacing:
        case normalize::StepKind::Strip:
        case normalize::StepKind::Prepend:
        case normalize::StepKind::Clean:
        case normalize::StepKind::SpaceIdeographs:
            return true;
        case normalize::StepKind::Replace:  // of one character
            return !step.from.empty() && step.from.size() == char_size(step.from[0]);
        default:
            return false;
    }
}

bool is_local(const normalize::Program& program) noexcept {
    return std::all_of(program.steps.begin(), program.steps.end(),
                       [](const normalize::Step& step) { return is_local(step); });
}

// Nor does it look at where a text starts.
bool is_local_inside(const normalize::Program& program) noexcept {
    return std::all_of(program.steps.begin(), program.steps.end(), [](const auto& step) {
        return is_local(step) && step.kind != normalize::StepKind::Strip &&
               step.kind != normalize::StepKind::Prepend;
    });
}

template <typename Unit>
std::size_t find_blank(const Unit* text, std::size_t from, std::size_t end) noexcept {
    for (std::size_t at = std::max<std::size_t>(from, 1); at + 1 < end; ++at) {
        if (text[at] == ' ' && is_letter(text[at - 1]) && is_letter(text[at + 1])) {
            return at;
        }
    }
    return end;
}

// Without a branch and in the width of a unit: the compiler makes vectors of it.
template <typename Unit>
bool has_surrogate(const Unit* text, std::size_t size) noexcept {
    constexpr auto kHigh = static_cast<Unit>(~std::uint32_t{0x7FF});
    Unit found = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const auto high = static_cast<Unit>(text[i] & kHigh);
        found = static_cast<Unit>(found | (high == Unit{0xD800} ? Unit{1} : Unit{0}));
    }
    return found != 0;
}

}  // namespace

// "x y" through both normalizers: is it again a letter, one character and a letter, with a border
// of the split after the first?
bool Model::is_border(std::uint8_t left, std::uint8_t right) const {
    const std::array<std::uint8_t, 3> probe{left, ' ', right};
    normalize::Buffer text(probe.begin(), probe.end());
    normalize::Buffer next;
    for (const normalize::Program* program : {&rewriter_, &respeller_}) {
        if (!program->steps.empty()) {
            normalize::run(*program, text, next);
            text.swap(next);
        }
    }
    if (text.size() < 3 || !is_letter(text.front()) || !is_letter(text.back())) {
        return false;
    }
    const TmU32 size = char_size(text[1]);
    return size + 2 == text.size() && split_.is_sync(text[0], decode_char(text.data() + 1, size));
}

// The rest after a cut starts with a blank, at a border of the split. Added tokens that are
// searched for in normalized text could lie across it.
bool Model::has_safe_cuts() const noexcept {
    return split_.rule.family != split::Family::None && added_.normal.empty() &&
           is_local_inside(rewriter_) && is_local_inside(respeller_);
}

std::size_t Model::prefix_end(const Text& text, std::size_t from) const {
    if (split_.rule.family == split::Family::None || !is_local(rewriter_) ||
        !is_local(respeller_)) {
        return text.size;
    }
    const std::size_t end = std::min(text.size, from + kSearch);
    while (from < end) {
        std::array<std::uint8_t, 2> letters{};
        std::size_t at = end;
        const auto look = [&](const auto* units) {
            at = find_blank(units, from, end);
            if (at < end) {
                letters = {static_cast<std::uint8_t>(units[at - 1]),
                           static_cast<std::uint8_t>(units[at + 1])};
            }
        };
        switch (text.encoding) {
            case Text::Encoding::Ucs2:
                look(static_cast<const std::uint16_t*>(text.data));
                break;
            case Text::Encoding::Ucs4:
                look(static_cast<const std::uint32_t*>(text.data));
                break;
            default:
                look(static_cast<const std::uint8_t*>(text.data));
        }
        if (at >= end) {
            break;
        }
        if (is_border(letters[0], letters[1])) {
            return at;
        }
        from = at + 1;
    }
    return text.size;
}

bool Model::is_well_formed(const Text& text) const noexcept {
    const auto* bytes = static_cast<const std::uint8_t*>(text.data);
    switch (text.encoding) {
        case Text::Encoding::Utf8:
            return text.size == 0 || kernel_->is_utf8(bytes, bytes + text.size);
        case Text::Encoding::Ucs2:
            return !has_surrogate(static_cast<const std::uint16_t*>(text.data), text.size);
        case Text::Encoding::Ucs4:
            return !has_surrogate(static_cast<const std::uint32_t*>(text.data), text.size);
        default:
            return true;
    }
}

}  // namespace tokenmill::pipeline
