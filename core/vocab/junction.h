// Where a long word may be cut: between two 3-byte characters that no token holds side by side.
// Every merge result is a token over contiguous bytes, so no merge can cross such a junction and
// both sides are independent. The filter errs only towards "joined", which keeps the ids exact.
// Freestanding.
#pragma once

#include "base/utf8.h"

namespace tokenmill::vocab {

struct JunctionFilter {
    const TmU32* words;  // 2^kWordBits of them, two bits a pair
    const TmU8* flags;   // per BMP code point: byte contexts as left (low) and right (high) nibble
    const TmU64* parts;  // open-addressed set of (left bytes << 32 | right bytes), 0 is free
    TmU32 parts_mask;

    static constexpr TmU32 kWordBits =
        14;  // 64 KB: 1 % of the free junctions look joined at 25,000 pairs

    static constexpr TmU32 kWordFactor = 0x9E3779B1U;
    static constexpr TmU32 kBitFactor = 0x85EBCA6BU;

    TOKENMILL_HD static TmU32 word_of(TmU32 pair) {
        return (pair * kWordFactor) >> (32 - kWordBits);
    }
    TOKENMILL_HD static TmU32 bits_of(TmU32 pair) {
        const TmU32 h = (pair * kBitFactor) >> 22;
        return 1U << (h & 31) | 1U << (h >> 5);
    }

    // 1 when the filter has this pair of whole characters, 0 when it surely is in no token.
    TOKENMILL_HD TmU32 paired(TmU32 left, TmU32 right) const {
        const TmU32 pair = left << 16 | right;
        const TmU32 h = (pair * kBitFactor) >> 22;
        const TmU32 word = words[word_of(pair)];
        return (word >> (h & 31)) & (word >> (h >> 5)) & 1U;
    }

    // May a token hold `left` directly before `right` (BMP code points of three bytes)?
    TOKENMILL_HD bool joined(TmU32 left, TmU32 right) const {
        if (paired(left, right) != 0) {
            return true;
        }
        const TmU32 contexts = flags[left] & (flags[right] >> 4);
        return contexts != 0 && joined_in_part(left, right, contexts);
    }

    // Tokens that hold only a part of one of the two characters.
    TOKENMILL_HD bool joined_in_part(TmU32 left, TmU32 right, TmU32 contexts) const {
        TmU8 x[3];
        TmU8 y[3];
        encode3(left, x);
        encode3(right, y);
        for (TmU32 i = 0; i < 3; ++i) {       // left part: the last 3 - i bytes
            for (TmU32 j = 1; j <= 3; ++j) {  // right part: the first j bytes
                const TmU32 kind = i == 0 ? (j == 3 ? 0U : 1U) : (j == 3 ? 2U : 4U);
                if ((contexts & kind) != 0 && has_part(part_key(x + i, 3 - i, y, j))) {
                    return true;
                }
            }
        }
        return false;
    }

    TOKENMILL_HD static TmU64 part_key(const TmU8* left, TmU32 n_left, const TmU8* right,
                                       TmU32 n_right) {
        TmU64 key = 0;
        for (TmU32 i = 0; i < n_left; ++i) {
            key |= TmU64(left[i]) << (32 + 8 * i);
        }
        for (TmU32 i = 0; i < n_right; ++i) {
            key |= TmU64(right[i]) << (8 * i);
        }
        return key;
    }

    TOKENMILL_HD static TmU64 part_slot(TmU64 key) { return (key * 0x9E3779B97F4A7C15ULL) >> 40; }

    TOKENMILL_HD bool has_part(TmU64 key) const {
        for (TmU64 at = part_slot(key) & parts_mask;; at = (at + 1) & parts_mask) {
            if (parts[at] == key) {
                return true;
            }
            if (parts[at] == 0) {
                return false;
            }
        }
    }
};

}  // namespace tokenmill::vocab
