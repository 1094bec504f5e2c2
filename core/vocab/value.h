// A word's ids packed into 64 bits: count in bits 60..63, up to three ids of 20 bits below.
// Larger counts are tags: the ids are elsewhere.
//
//   bit    63..60   59..40   39..20   19..0
//          count    id 2     id 1     id 0        count up to 3
//
//          63..60   59..28        27..0
//          tag      position      count          kTagStored, kTagAmbiguous, kTagSide
#pragma once

#include "base/device.h"

namespace tokenmill::vocab {

constexpr TmU32 kInlineIds = 3;
constexpr TmU32 kTagStored = 13;  // ids in the store: position in bits 28..59, count in bits 0..27
constexpr TmU32 kTagAmbiguous = 14;  // store position of: id as a whole word, count, ids as a piece
constexpr TmU32 kTagSide = 15;       // like kTagStored, in the batch's own side buffer

TOKENMILL_HD TmU64 pack_ids(const TmU32* ids, TmU32 count) {
    TmU64 value = TmU64(count) << 60;
    for (TmU32 i = 0; i < count; ++i) {
        value |= TmU64(ids[i]) << (20 * i);
    }
    return value;
}

TOKENMILL_HD TmU64 pack_reference(TmU32 tag, TmU64 position, TmU32 count) {
    return TmU64(tag) << 60 | position << 28 | count;
}

TOKENMILL_HD TmU32 value_tag(TmU64 value) {
    return TmU32(value >> 60);
}
TOKENMILL_HD TmU64 reference_position(TmU64 value) {
    return value >> 28 & 0xFFFFFFFFU;
}
TOKENMILL_HD TmU32 reference_count(TmU64 value) {
    return TmU32(value) & 0xFFFFFFFU;
}

}  // namespace tokenmill::vocab
