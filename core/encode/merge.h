// encode: symbols of one short word -> ids, by ranked merging on a small array. Freestanding. Every
// faster way must agree with this one.
#pragma once

#include "vocab/pairs.h"

namespace tokenmill::encode {

constexpr TmU32 kShortWord = 64;

// The id that two symbols merge to; the first 256 are bytes, whose pairs have their own table.
TOKENMILL_HD TmU32 merged_symbols(const vocab::PairTable& pairs, TmU32 left, TmU32 right) {
    return (left | right) < 256 ? pairs.byte_pairs[left << 8 | right] : pairs.merged(left, right);
}

// Merges `size` symbols (at most kShortWord) in place; returns the number of ids that are left.
//   "the" -> [t h e] -> [th e] -> [the]
TOKENMILL_HD TmU32 merge_short(const vocab::PairTable& pairs, TmU32* ids, TmU32 size) {
    TmU32 ranks[kShortWord];
    for (TmU32 i = 0; i < size; ++i) {
        ranks[i] = i + 1 < size ? merged_symbols(pairs, ids[i], ids[i + 1]) : vocab::kNoMerge;
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
