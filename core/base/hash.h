// base/hash: hashes of small keys. Full keys are always compared, so quality only affects speed.
#pragma once

#include "base/device.h"

namespace tokenmill {

constexpr TmU64 kGolden = 0x9E3779B97F4A7C15ULL;
constexpr TmU64 kSecond = 0xD6E8FEB86659FD93ULL;

// The high bits are the good ones: take them with a right shift.
TOKENMILL_HD TmU64 hash_word(TmU64 key) {
    return key * kGolden;
}

TOKENMILL_HD TmU64 hash_pair(TmU64 a, TmU64 b) {
    const TmU64 x = a * kGolden;
    return (x ^ (x >> 29) ^ (b * kSecond)) * kGolden;
}

}  // namespace tokenmill
