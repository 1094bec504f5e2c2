// The merges of a vocabulary as a hash table: (left, right) -> merged, all internal ids.
// Freestanding: the same look-up runs on a device.
//
// Internal ids number the tokens in merge order (0..255 are the bytes), and only the merge that
// builds a token from its own bytes is kept, because no other can fire in any text: a token's
// derivation inside a text is its derivation alone. So the merged id is the rank.
#pragma once

#include "base/hash.h"

namespace tokenmill::vocab {

constexpr TmU32 kNoMerge = 0xFFFFFFFFU;
constexpr TmU32 kIdBits = 20;  // internal and external ids are below 2^20
constexpr TmU32 kIdMask = (1U << kIdBits) - 1;

struct PairTable {
    const TmU64* slots;       // left << 40 | right << 20 | merged; 0 is free (merged is >= 256)
    const TmU32* byte_pairs;  // [left << 8 | right] for two bytes: merged or kNoMerge
    TmU32 shift;              // 64 - log2(number of slots)
    TmU32 mask;

    TOKENMILL_HD TmU32 merged(TmU32 left, TmU32 right) const {
        const TmU64 key = TmU64(left) << kIdBits | right;
        TmU64 at = hash_word(key) >> shift;
        for (;;) {
            const TmU64 slot = slots[at];
            if (slot >> kIdBits == key) {
                return slot == 0 ? kNoMerge : TmU32(slot) & kIdMask;
            }
            if (slot == 0) {
                return kNoMerge;
            }
            at = (at + 1) & mask;
        }
    }

    TOKENMILL_HD TmU32 merged_bytes(TmU8 left, TmU8 right) const {
        return byte_pairs[TmU32(left) << 8 | right];
    }
};

}  // namespace tokenmill::vocab
