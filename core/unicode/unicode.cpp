#include "unicode/unicode.h"

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

}  // namespace

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
