// Pairs of bytes that merge before anything else can take one of the two, so that a whole word can
// merge them at once. A 64-bit number for every two bytes a, b:
//
//   bit    59..40                    39..20                    19..0
//          least merge of a and      least merge of what       a merge of a and b
//          what starts with b        ends with a, and b
//
// All are internal ids, which are ranks; all ones: none. In the text "x a b y" merging takes a and
// b together if their merge is less than every merge of b and what starts with y, and than every
// merge of what ends with x, and a: whichever comes first among these takes both, and the merge of
// a and b is there from the start. No merge of the new symbol comes earlier than it was made
// (compile makes sure), so it may be made before all others.
#pragma once

#include "vocab/pairs.h"

namespace tokenmill::vocab {

using SurePair = TmU64;

constexpr TmU32 kSurePairs = 65536;
constexpr TmU32 kNeverMade = kIdMask;

constexpr SurePair pack_sure_pair(TmU32 made, TmU32 least_left, TmU32 least_right) {
    return TmU64(least_right) << (2 * kIdBits) | TmU64(least_left) << kIdBits | made;
}
constexpr TmU32 made_of(SurePair pair) {
    return TmU32(pair) & kIdMask;
}
// Of what ends with the first byte, and the second byte.
constexpr TmU32 least_left_of(SurePair pair) {
    return TmU32(pair >> kIdBits) & kIdMask;
}
// Of the first byte, and what starts with the second byte.
constexpr TmU32 least_right_of(SurePair pair) {
    return TmU32(pair >> (2 * kIdBits)) & kIdMask;
}

}  // namespace tokenmill::vocab
