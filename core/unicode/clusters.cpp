#include "unicode/clusters.h"

#include "unicode/unicode.h"

namespace tokenmill::unicode {

namespace {

using Class = ClusterClass;

bool ends_everything(Class of) noexcept {
    return of == Class::Control || of == Class::Return || of == Class::Newline;
}

bool joins_before(Class of) noexcept {
    return of == Class::Extend || of == Class::Conjoins || of == Class::Linker ||
           of == Class::Joiner || of == Class::Spacing;
}

bool joins_hangul(Class left, Class right) noexcept {
    switch (left) {
        case Class::Lead:
            return right == Class::Lead || right == Class::Vowel || right == Class::OpenSyllable ||
                   right == Class::ClosedSyllable;
        case Class::OpenSyllable:
        case Class::Vowel:
            return right == Class::Vowel || right == Class::Tail;
        case Class::ClosedSyllable:
        case Class::Tail:
            return right == Class::Tail;
        default:
            return false;
    }
}

// What the characters so far contribute to the decision whether the next one joins them.
struct ClusterContext {
    Class last = Class::Other;
    int conjunct = 0;  // 1: a consonant, 2: one with a linker after it
    int picture = 0;   // 1: a pictograph with marks, 2: one with U+200D after it

    void take(Class next) noexcept {
        conjunct = next == Class::Consonant                           ? 1
                   : next == Class::Linker && conjunct != 0           ? 2
                   : next == Class::Conjoins || next == Class::Joiner ? conjunct
                                                                      : 0;
        const bool is_mark =
            next == Class::Extend || next == Class::Conjoins || next == Class::Linker;
        picture = next == Class::Pictograph               ? 1
                  : picture == 1 && is_mark               ? 1
                  : picture == 1 && next == Class::Joiner ? 2
                                                          : 0;
        last = next;
    }

    [[nodiscard]] bool joins(Class next) const noexcept {
        if (ends_everything(next)) {
            return false;
        }
        return joins_before(next) || last == Class::Prepend || joins_hangul(last, next) ||
               (conjunct == 2 && next == Class::Consonant) ||
               (picture == 2 && next == Class::Pictograph);
    }
};

}  // namespace

bool joins_clusters(char32_t point) noexcept {
    const Class of = cluster_class(point);
    return joins_before(of) || of == Class::Prepend || of == Class::Lead || of == Class::Vowel ||
           of == Class::Tail || of == Class::Return;
}

const std::uint8_t* cluster_end(const std::uint8_t* at, const std::uint8_t* end) noexcept {
    Character character = read_character(at);
    Class of = cluster_class(character.point);
    at += character.size;
    if (ends_everything(of)) {
        return of == Class::Return && at != end && *at == '\n' ? at + 1 : at;
    }
    ClusterContext context;
    for (context.take(of); at != end; at += character.size) {
        character = read_character(at);
        of = cluster_class(character.point);
        if (!context.joins(of)) {
            break;
        }
        context.take(of);
    }
    return at;
}

}  // namespace tokenmill::unicode
