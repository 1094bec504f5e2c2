// unicode: a character -> its properties. Pure look-ups in generated tables, no allocation, no
// failure; two loads each. The tables hold what the reference normalizers do, which is older than
// the newest Unicode: characters that they do not know stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "base/types.h"
#include "base/utf8.h"
#include "unicode/clusters.h"
#include "unicode/generated/normalization_tables.h"
#include "unicode/repair.h"

namespace tokenmill::unicode {

// Flags of a character. The first six: a rewrite changes it, whatever its neighbours are.
// kCombines, kMaybe and kTakes: it may move before a mark, or compose with the character before it.
using Flags = std::uint16_t;
inline constexpr Flags kNotNfc = 1 << 0;
inline constexpr Flags kNotNfd = 1 << 1;
inline constexpr Flags kNotNfkc = 1 << 2;
inline constexpr Flags kNotNfkd = 1 << 3;
inline constexpr Flags kLowers = 1 << 4;       // has another lower-case form
inline constexpr Flags kMark = 1 << 5;         // a combining mark: general category M
inline constexpr Flags kCombines = 1 << 6;     // its combining class is not zero
inline constexpr Flags kMaybe = 1 << 7;        // composes with some character before it
inline constexpr Flags kTakes = 1 << 8;        // what a kMaybe may react with when it comes next
inline constexpr Flags kNonspacing = 1 << 9;   // a mark of no width: general category Mn
inline constexpr Flags kUnclean = 1 << 10;     // controls and others that cleaning removes
inline constexpr Flags kCleanSpace = 1 << 11;  // cleaning makes it U+0020
inline constexpr Flags kSpaced = 1 << 12;      // an ideograph that gets spaces around it
inline constexpr Flags kWhite = 1 << 13;       // White_Space

inline constexpr char32_t kFirstSyllable = 0xAC00;
inline constexpr char32_t kSyllables = 11172;
inline constexpr char32_t kFirstLead = 0x1100;
inline constexpr char32_t kLeads = 19;
inline constexpr char32_t kFirstVowel = 0x1161;
inline constexpr char32_t kVowels = 21;
inline constexpr char32_t kNoTail = 0x11A7;  // tails are the 27 characters after it
inline constexpr char32_t kTails = 28;

// A character and how many bytes of UTF-8 it takes.
struct Character {
    char32_t point = 0;
    std::uint32_t size = 0;
};

// The character that starts at `at`.  Needs: valid UTF-8, so that all its bytes are there.
[[nodiscard]] inline Character read_character(const std::uint8_t* at) noexcept {
    const std::uint32_t size = char_size(*at);
    return {decode_char(at, size), size};
}

[[nodiscard]] inline Flags flags_of(char32_t point) noexcept {
    return look_up(tables::kFlagPages, tables::kFlagBlocks, point);
}

// The key of lead_flags(): the first two bytes of a character.  Needs: `second` follows `lead` in
// valid UTF-8. If `lead` is not the first byte of a wide character, the key has no flags.
[[nodiscard]] inline std::uint16_t lead_key(std::uint8_t lead, std::uint8_t second) noexcept {
    const int row = (lead > 0xBF ? lead : 0xBF) - 0xBF;
    return static_cast<std::uint16_t>(row << 6 | (second & 0x3F));
}

// Union of the flags, kTakes left out, of all characters that start with the two bytes of `key`.
[[nodiscard]] inline std::uint8_t lead_flags(std::uint16_t key) noexcept {
    return tables::kLeadFlags[key];
}

// Rank of the canonical combining class: 0 for a starter, else its place among all classes.
[[nodiscard]] inline std::uint8_t combining_class(char32_t point) noexcept {
    return look_up(tables::kClassPages, tables::kClassBlocks, point);
}

[[nodiscard]] inline std::span<const char32_t> sequence_at(std::size_t place) noexcept {
    return {&tables::kSequences[place + 1], tables::kSequences[place]};
}

// Full decomposition; empty if the character is its own. Not for Hangul syllables.
[[nodiscard]] inline std::span<const char32_t> canonical_parts(char32_t point) noexcept {
    return sequence_at(look_up(tables::kCanonicalPages, tables::kCanonicalBlocks, point));
}

[[nodiscard]] inline std::span<const char32_t> compatible_parts(char32_t point) noexcept {
    return sequence_at(look_up(tables::kCompatiblePages, tables::kCompatibleBlocks, point));
}

// Lower-case form, without regard to neighbours; empty when the character is its own.
[[nodiscard]] inline std::span<const char32_t> lowercase(char32_t point) noexcept {
    return sequence_at(look_up(tables::kLowerPages, tables::kLowerBlocks, point));
}

[[nodiscard]] inline bool is_syllable(char32_t point) noexcept {
    return point - kFirstSyllable < kSyllables;
}

[[nodiscard]] inline bool is_white_space(char32_t point) noexcept {
    return (flags_of(point) & kWhite) != 0;
}

// The character that two characters compose to, or 0.
//   compose('e', U+0301) -> U+00E9
[[nodiscard]] char32_t compose(char32_t first, char32_t second) noexcept;

}  // namespace tokenmill::unicode
