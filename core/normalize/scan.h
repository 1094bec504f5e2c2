// normalize/scan: text -> the next character that a rewrite may change. Cost: two look-ups a
// character, none for ASCII.
#pragma once

#include <bit>
#include <cstring>

#include "base/types.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

// First character that is not ASCII, from `at` on.
[[nodiscard]] inline const std::uint8_t* skip_ascii(const std::uint8_t* at,
                                                    const std::uint8_t* end) noexcept {
    constexpr std::uint64_t kHighBits = 0x8080808080808080;
    while (end - at >= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        if ((word & kHighBits) != 0) {
            static_assert(std::endian::native == std::endian::little);
            return at + std::countr_zero(word & kHighBits) / 8;
        }
        at += 8;
        while (end - at >= 64) {
            std::uint64_t words[8];
            std::memcpy(words, at, sizeof words);
            if (((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] |
                  words[7]) &
                 kHighBits) != 0) {
                break;
            }
            at += 64;
        }
    }
    while (at != end && *at < 0x80) {
        ++at;
    }
    return at;
}

inline constexpr std::ptrdiff_t kCleanBlock = 16;

// Whether no character that starts in the 16 bytes at `at` can have a flag of `mask`; where a
// character starts does not matter. Keys first, then look-ups: the first loop is vectorized.
// Needs: 17 bytes at `at`.
[[nodiscard]] inline bool is_clean(const std::uint8_t* at, unicode::Flags mask) noexcept {
    std::uint16_t keys[kCleanBlock];
    for (int index = 0; index < kCleanBlock; ++index) {
        keys[index] = unicode::lead_key(at[index], at[index + 1]);
    }
    unsigned found = 0;
    for (const std::uint16_t key : keys) {
        found |= unicode::lead_flags(key);
    }
    return (found & mask) == 0;
}

// Start of the first character that is_clean() does not rule out, or one a little before it.
[[nodiscard]] inline const std::uint8_t* skip_clean(const std::uint8_t* at, const std::uint8_t* end,
                                                    unicode::Flags mask) noexcept {
    const std::uint8_t* const begin = at;
    while (end - at > kCleanBlock && is_clean(at, mask)) {
        at += kCleanBlock;
        std::uint64_t words[2];
        if (end - at > kCleanBlock) {
            std::memcpy(words, at, sizeof words);
            if (((words[0] | words[1]) & 0x8080808080808080) == 0) {
                at = skip_ascii(at, end);
            }
        }
    }
    while (at != begin && at != end && is_continuation(*at)) {
        --at;
    }
    return at;
}

// Decides about one character after the other. A single mark keeps its place, and a kMaybe stays
// apart if the character before takes none. So the flags of two neighbours are enough to pass most
// characters: ordinary text of any script goes through without a branch taken.
struct SuspectFilter {
    static constexpr unicode::Flags kContextual = unicode::kCombines | unicode::kMaybe;
    static_assert(unicode::kTakes >> 1 == unicode::kMaybe);

    unicode::Flags mask = 0;
    unicode::Flags taken = 0;  // kCombines: a mark may move before it; kMaybe: it takes one

    [[nodiscard]] bool is_suspect(char32_t point) noexcept {
        const unicode::Flags flags = unicode::flags_of(point);
        const int found = flags & mask & (~kContextual | taken);
        taken = static_cast<unicode::Flags>((flags & unicode::kCombines) |
                                            (flags >> 1 & unicode::kMaybe));
        return found != 0;
    }
};

// First suspect between `at` and `stop`; without one, the first character at or after `stop`.
// One branch per size of character: a computed size would make every load wait for the one before
// it, while a predicted one does not.
[[nodiscard]] inline const std::uint8_t* next_suspect_of(SuspectFilter& filter,
                                                         const std::uint8_t* at,
                                                         const std::uint8_t* stop,
                                                         const std::uint8_t* end) noexcept {
    while (at < stop) {
        const std::uint8_t lead = *at;
        if (lead < 0x80) {
            at = skip_ascii(at, end);
            filter.taken = unicode::kMaybe;
        } else if (lead < 0xE0) {
            if (filter.is_suspect(decode2(at))) {
                return at;
            }
            at += 2;
        } else if (lead < 0xF0) {
            if (filter.is_suspect(decode3(at))) {
                return at;
            }
            at += 3;
        } else {
            if (filter.is_suspect(decode4(at))) {
                return at;
            }
            at += 4;
        }
    }
    return at;
}

// First character, not ASCII, that a rewrite with this mask may change; `end` if there is none.
// ASCII can only have kLowers: the caller finds capitals.  Needs: valid UTF-8, and the character
// before `at` cannot interact with it.
[[nodiscard]] inline const std::uint8_t* next_suspect(const std::uint8_t* at,
                                                      const std::uint8_t* end,
                                                      unicode::Flags mask) noexcept {
    constexpr std::ptrdiff_t kBurst = 128;  // bytes between two tries to skip clean blocks
    SuspectFilter filter{mask};
    while (at != end) {
        const std::uint8_t* const clean = skip_clean(skip_ascii(at, end), end, mask);
        if (clean != at) {
            at = clean;
            filter.taken = unicode::kMaybe;
        }
        const std::uint8_t* const stop = end - at > kBurst ? at + kBurst : end;
        at = next_suspect_of(filter, at, stop, end);
        if (at < stop) {
            return at;
        }
    }
    return end;
}

// End of the run of flagged characters that starts at `at`.
[[nodiscard]] inline const std::uint8_t* skip_flagged(const std::uint8_t* at,
                                                      const std::uint8_t* end,
                                                      unicode::Flags mask) noexcept {
    while (at != end) {
        const unicode::Character character = unicode::read_character(at);
        if ((unicode::flags_of(character.point) & mask) == 0) {
            break;
        }
        at += character.size;
    }
    return at;
}

// End of the white space that starts at `at`.
[[nodiscard]] inline const std::uint8_t* skip_white(const std::uint8_t* at,
                                                    const std::uint8_t* end) noexcept {
    return skip_flagged(at, end, unicode::kWhite);
}

}  // namespace tokenmill::normalize
