// normalize/literal: text -> the next place of a literal. Inside the room only.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "simd/bytes16.h"

namespace tokenmill::normalize {

// Where `wanted` is at or after `from`, or npos. Compares both ends first: either one alone may be
// in every word.
inline std::size_t find_literal(std::string_view text, std::string_view wanted, std::size_t from) {
    const std::size_t last = wanted.size() - 1;
    std::size_t at = from;
    for (; at + last + simd::kBlock32 <= text.size(); at += simd::kBlock32) {
        for (std::uint32_t rest =
                 simd::both_ends_mask(text.data() + at, last, wanted.front(), wanted.back());
             rest != 0; rest &= rest - 1) {
            const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(rest));
            if (std::memcmp(text.data() + place, wanted.data(), last) == 0) {
                return place;
            }
        }
    }
    return text.find(wanted, at);
}

}  // namespace tokenmill::normalize
