// A literal text in another. Indoors of normalize.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tokenmill::normalize {

#if defined(__SSE2__)

inline constexpr std::size_t kLiteralBlock = 32;

// Bit i: the first and the last byte of `wanted` stand at i and `last` behind it.
[[nodiscard]] inline std::uint32_t literal_ends(const char* at, std::size_t last,
                                                __m128i first_byte, __m128i last_byte) noexcept {
    std::uint32_t found = 0;
    for (std::size_t half = 0; half < 2; ++half) {
        const auto* from = reinterpret_cast<const __m128i*>(at) + half;
        const auto* to = reinterpret_cast<const __m128i*>(at + last) + half;
        const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(from), first_byte),
                                           _mm_cmpeq_epi8(_mm_loadu_si128(to), last_byte));
        found |= static_cast<std::uint32_t>(_mm_movemask_epi8(both)) << (16 * half);
    }
    return found;
}

// Where `wanted` stands at or behind `from`, or npos. Looks at both ends of it: either one alone
// may be in every word.
inline std::size_t find_literal(std::string_view text, std::string_view wanted, std::size_t from) {
    const std::size_t last = wanted.size() - 1;
    const __m128i first_byte = _mm_set1_epi8(wanted.front());
    const __m128i last_byte = _mm_set1_epi8(wanted.back());
    std::size_t at = from;
    for (; at + last + kLiteralBlock <= text.size(); at += kLiteralBlock) {
        for (std::uint32_t rest = literal_ends(text.data() + at, last, first_byte, last_byte);
             rest != 0; rest &= rest - 1) {
            const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(rest));
            if (std::memcmp(text.data() + place, wanted.data(), last) == 0) {
                return place;
            }
        }
    }
    return text.find(wanted, at);
}

#else

inline std::size_t find_literal(std::string_view text, std::string_view wanted, std::size_t from) {
    return text.find(wanted, from);
}

#endif

}  // namespace tokenmill::normalize
