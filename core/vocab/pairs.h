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
    static constexpr TmU32 kLine = 8;  // slots of a cache line; a full line continues in the next

    const TmU64* slots;       // key << kIdBits | merged; 0 is free
    const TmU32* byte_pairs;  // [left << 8 | right] for two bytes: merged or kNoMerge
    TmU32 shift;              // 64 - log2(number of lines)
    TmU32 mask;               // number of lines - 1

    TOKENMILL_HD static TmU64 key_of(TmU32 left, TmU32 right) {
        return (TmU64(left) + 1) << kIdBits | right;  // never 0, so that a free slot has no key
    }
    TOKENMILL_HD TmU64 line_of(TmU64 key) const { return hash_word(key) >> shift; }

    TOKENMILL_HD TmU32 merged(TmU32 left, TmU32 right) const {
        const TmU64 key = key_of(left, right);
        return find(key, line_of(key));
    }

    TOKENMILL_HD TmU32 find(TmU64 key, TmU64 line) const {
        for (;; line = (line + 1) & mask) {
            for (TmU32 i = 0; i < kLine; ++i) {
                const TmU64 slot = slots[kLine * line + i];
                if (slot >> kIdBits == key) {
                    return TmU32(slot) & kIdMask;
                }
                if (slot == 0) {
                    return kNoMerge;
                }
            }
        }
    }
};

}  // namespace tokenmill::vocab
