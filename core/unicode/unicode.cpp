#include "unicode/unicode.h"

#include <algorithm>

namespace tokenmill::unicode {

namespace {

constexpr std::size_t kPairSlots = std::size(tables::kPairFirst);
static_assert(kPairSlots == 2048, "pair_slot takes the top 11 of 32 bits");

// As in tools/gen_normalization.py, which fills the table.
std::size_t pair_slot(char32_t first, char32_t second) noexcept {
    return static_cast<std::uint32_t>(first * 0x9E3779B1U + second * 0x85EBCA6BU) >> 21;
}

char32_t compose_hangul(char32_t first, char32_t second) noexcept {
    if (first - kFirstLead < kLeads && second - kFirstVowel < kVowels) {
        const char32_t lead = first - kFirstLead;
        return kFirstSyllable + (lead * kVowels + (second - kFirstVowel)) * kTails;
    }
    const bool is_open = is_syllable(first) && (first - kFirstSyllable) % kTails == 0;
    const bool is_tail = second > kNoTail && second < kNoTail + kTails;
    return is_open && is_tail ? first + (second - kNoTail) : 0;
}

bool is_continuation(std::uint8_t byte) noexcept {
    return (byte & 0xC0) == 0x80;
}

// Size of the valid character at the front of `text`, or 0.
std::size_t valid_character(Bytes text) noexcept {
    const std::uint8_t lead = text[0];
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t size = size_of(lead);
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size ||
        !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size),
                     is_continuation)) {
        return 0;
    }
    const char32_t point = read_character(text.data()).point;
    const bool is_overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    const bool is_surrogate = point >= 0xD800 && point < 0xE000;
    return is_overlong || is_surrogate || point > 0x10FFFF ? 0 : size;
}

}  // namespace

std::size_t valid_prefix(Bytes text) noexcept {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t size = valid_character(text.subspan(at));
        if (size == 0) {
            break;
        }
        at += size;
    }
    return at;
}

char32_t compose(char32_t first, char32_t second) noexcept {
    // Empty slots hold composite 0, and no slot is full of all 2048: the loop ends.
    for (std::size_t slot = pair_slot(first, second); tables::kPairComposite[slot] != 0;
         slot = (slot + 1) % kPairSlots) {
        if (tables::kPairFirst[slot] == first && tables::kPairSecond[slot] == second) {
            return tables::kPairComposite[slot];
        }
    }
    return compose_hangul(first, second);
}

}  // namespace tokenmill::unicode
