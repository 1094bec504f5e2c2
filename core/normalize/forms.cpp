#include "normalize/forms.h"

#include <algorithm>
#include <span>

#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

// Insertion sort wins on the usual two or three marks, and is quadratic on a hostile million.
constexpr std::ptrdiff_t kInsertionSortMax = 32;

void append_part(char32_t point, int change, std::vector<FormPart>& parts) {
    parts.push_back({point, unicode::combining_class(point), change});
}

void append_syllable(char32_t point, std::vector<FormPart>& parts) {
    const char32_t index = point - unicode::kFirstSyllable;
    const char32_t tail = index % unicode::kTails;
    const char32_t front = index / unicode::kTails;
    parts.push_back({unicode::kFirstLead + front / unicode::kVowels, 0, 0});
    parts.push_back({unicode::kFirstVowel + front % unicode::kVowels, 0, 1});
    if (tail != 0) {
        parts.push_back({unicode::kNoTail + tail, 0, 1});
    }
}

void decompose(Bytes stretch, bool is_compatible, std::vector<FormPart>& parts, const Stop* stop) {
    const std::uint8_t* at = stretch.data();
    const std::uint8_t* const end = at + stretch.size();
    StopPoints points(stop);
    while (at != end) {
        points.pass(static_cast<std::size_t>(at - stretch.data()));
        const unicode::Character character = unicode::read_character(at);
        const char32_t point = character.point;
        at += character.size;
        if (unicode::is_syllable(point)) {
            append_syllable(point, parts);
            continue;
        }
        const std::span<const char32_t> pieces =
            is_compatible ? unicode::compatible_parts(point) : unicode::canonical_parts(point);
        int change = 0;
        for (const char32_t piece : pieces) {
            append_part(piece, change, parts);
            change = 1;
        }
        if (pieces.empty()) {
            append_part(point, 0, parts);
        }
    }
}

void sort_marks(std::span<FormPart> marks, const Stop* stop) {
    const auto has_smaller_class = [](const FormPart& one, const FormPart& other) {
        return one.combining_class < other.combining_class;
    };
    if (std::ssize(marks) > kInsertionSortMax) {
        StopPoints points(stop);
        std::size_t n_compared = 0;
        std::stable_sort(marks.begin(), marks.end(),
                         [&](const FormPart& one, const FormPart& other) {
                             points.pass(n_compared++);
                             return has_smaller_class(one, other);
                         });
        return;
    }
    for (auto next = marks.begin(); next != marks.end(); ++next) {
        const auto place = std::upper_bound(marks.begin(), next, *next, has_smaller_class);
        std::rotate(place, next, next + 1);
    }
}

// Sorts every row of marks by class; equal classes keep their order.
void order_marks(std::vector<FormPart>& parts, const Stop* stop) {
    const auto is_mark = [](const FormPart& part) { return part.combining_class != 0; };
    auto at = parts.begin();
    while ((at = std::find_if(at, parts.end(), is_mark)) != parts.end()) {
        const auto end = std::find_if_not(at, parts.end(), is_mark);
        if (end - at > 1) {
            sort_marks({at, end}, stop);
        }
        at = end;
    }
}

// Lets every starter compose with the characters after it that nothing blocks; works in place.
void compose_parts(std::vector<FormPart>& parts) {
    std::size_t n_kept = 0;
    std::size_t starter = parts.size();  // none yet
    for (const FormPart part : parts) {
        const bool has_starter = starter < n_kept;
        const bool is_adjacent = starter + 1 == n_kept;
        if (has_starter &&
            (is_adjacent || parts[n_kept - 1].combining_class < part.combining_class)) {
            const char32_t composite = unicode::compose(parts[starter].point, part.point);
            if (composite != 0) {
                parts[starter].point = composite;
                parts[starter].change += part.change - 1;
                continue;
            }
        }
        if (part.combining_class == 0) {
            starter = n_kept;
        }
        parts[n_kept++] = part;
    }
    parts.resize(n_kept);
}

}  // namespace

void make_form(StepKind kind, Bytes stretch, std::vector<FormPart>& parts, const Stop* stop) {
    parts.clear();
    decompose(stretch, kind == StepKind::Nfkc || kind == StepKind::Nfkd, parts, stop);
    order_marks(parts, stop);
    if (kind == StepKind::Nfc || kind == StepKind::Nfkc) {
        check_stop(stop);
        compose_parts(parts);
    }
}

bool joins_forms(char32_t point) noexcept {
    constexpr unicode::Flags kJoins = unicode::kCombines | unicode::kMaybe;
    if (unicode::is_syllable(point)) {
        return false;
    }
    const std::span<const char32_t> parts = unicode::compatible_parts(point);
    const std::span<const char32_t> same = unicode::canonical_parts(point);
    const auto joins = [](char32_t one) { return (unicode::flags_of(one) & kJoins) != 0; };
    return joins(point) || (!parts.empty() && joins(parts[0])) || (!same.empty() && joins(same[0]));
}

}  // namespace tokenmill::normalize
