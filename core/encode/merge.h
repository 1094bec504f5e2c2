// Ranked merging of one short word on a small array. Freestanding: the oracle of every faster way.
#pragma once

#include "vocab/pairs.h"

namespace tokenmill::encode {

constexpr TmU32 kShortWord = 64;

// Merges the bytes of `word` (1..kShortWord of them); internal ids to `ids`, returns their count.
//   "the" -> [t h e] -> [th e] -> [the]
TOKENMILL_HD TmU32 merge_short(const vocab::PairTable& pairs, const TmU8* word, TmU32 size,
                               TmU32* ids) {
    TmU32 ranks[kShortWord];
    for (TmU32 i = 0; i < size; ++i) {
        ids[i] = word[i];
    }
    for (TmU32 i = 0; i + 1 < size; ++i) {
        ranks[i] = pairs.merged_bytes(word[i], word[i + 1]);
    }
    while (size > 1) {
        TmU32 best = vocab::kNoMerge;
        TmU32 at = 0;
        for (TmU32 i = 0; i + 1 < size; ++i) {
            if (ranks[i] < best) {
                best = ranks[i];
                at = i;
            }
        }
        if (best == vocab::kNoMerge) {
            break;
        }
        ids[at] = best;
        --size;
        for (TmU32 i = at + 1; i < size; ++i) {
            ids[i] = ids[i + 1];
            ranks[i] = ranks[i + 1];
        }
        if (at > 0) {
            ranks[at - 1] = pairs.merged(ids[at - 1], best);
        }
        if (at + 1 < size) {
            ranks[at] = pairs.merged(best, ids[at + 1]);
        }
    }
    return size;
}

}  // namespace tokenmill::encode
