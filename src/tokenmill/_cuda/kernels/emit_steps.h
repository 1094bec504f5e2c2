// emit_ids, first half: the codes of a thread's words -> how many ids each has.
//
// A word's step packs two counts into one number, so one prefix sum gives both:
//   bits 31..16   1 if its ids are not in its code (kWork): the sum is its place in the work list
//   bits 15..0    how many ids it has: the sum is where they go; a tile has fewer than 16384
#pragma once

#include "words.h"

constexpr u32 kEmitThreads = 256;
constexpr u32 kEmitEach = 8;                          // words of a thread in a round
constexpr u32 kEmitWords = kEmitEach * kEmitThreads;  // of a round
constexpr u32 kStagedIds = 3072;
constexpr u32 kCopyThreads = 4;  // that copy one list of ids together
static_assert(kEmitEach % 4 == 0 && kStagedIds % 4 == 0, "codes and ids go in fours");

constexpr u32 kWork = 1u << 16;

struct EmitBlock {
    TM_ALIGN16 u32 ids[kStagedIds];
    u32 work[kEmitWords];    // codes of words whose ids are elsewhere
    u16 places[kEmitWords];  // where those ids go
    u32 lists;               // whether some of them are not in an entry of `words`
};

struct EmitWords {
    u32 codes[kEmitEach];
    u32 steps[kEmitEach];
};

using EmitThreads = PerThread<EmitWords, kEmitThreads>;

// A round: the next words of a block, whose ids go to `out` and up. Places are counted from the
// multiple of four ids at or before `out`, which is `shift` lower, so that four ids can be written
// at once.
struct EmitRound {
    u32 begin;  // a multiple of four, at most three below `first`
    u32 first;  // words of the tile: from here
    u32 end;    // to here
    u32 out;
    u32 shift;
};

// The ids of a word that are neither in its code nor in an entry of `words`: kMiss or kLong.
struct IdList {
    const u32* ids;
    u32 count;
};

TM_DEVICE IdList id_list(const Tables* tables, const Batch* batch, u32 code) {
    if ((code & kKinds) == kLong) {
        const uint4 slot = read_table(tables->long_slots + (code & kPayload));
        return {tables->long_ids + slot.z, slot.w >> 8};
    }
    const uint4 miss = read_table(batch->misses + (code & kPayload));
    return {batch->arena + miss.z, miss.w};
}

// The number of the entry that has the count of a list's ids.
TM_DEVICE u32 list_facts(const uint4* long_slots, const uint4* misses, u32 code) {
    const uint4* entries = (code & kKinds) == kLong ? long_slots : misses;
    return read_table(reinterpret_cast<const u32*>(entries + (code & kPayload)) + 3);
}

TM_DEVICE u32 list_step(u32 code, u32 facts) {
    const u32 count = (code & kKinds) == kLong ? facts >> 8 : facts;
    return count != 0 ? kWork + count : 0;
}

// The steps of lists. All entries are loaded before the first one is used, so that the loads
// overlap.
TM_DEVICE void count_lists(const uint4* long_slots, const uint4* misses, EmitWords& own) {
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        if (own.codes[k] >> 31 != 0) {
            const bool is_lost = (own.codes[k] & kPayload) == kPayload;
            own.steps[k] = is_lost ? 0 : list_facts(long_slots, misses, own.codes[k]);
        }
    }
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        if (own.codes[k] >> 31 != 0) {
            own.steps[k] = list_step(own.codes[k], own.steps[k]);
        }
    }
}

// The codes of a thread; codes of other tiles become kLost, which has no ids.
TM_DEVICE void load_codes(const u32* codes, const EmitRound& round, u32 t, EmitWords& own) {
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; k += 4) {
        const u32 at = round.begin + kEmitEach * t + k;
        uint4 four = make_uint4(kLost, kLost, kLost, kLost);
        if (at < round.end) {
            four = read_once(reinterpret_cast<const uint4*>(codes + at));
        }
        if (at < round.first || at + 4 > round.end) {
            const u32 words = round.end - round.first;
            four.x = at - round.first < words ? four.x : kLost;
            four.y = at + 1 - round.first < words ? four.y : kLost;
            four.z = at + 2 - round.first < words ? four.z : kLost;
            four.w = at + 3 - round.first < words ? four.w : kLost;
        }
        own.codes[k] = four.x;
        own.codes[k + 1] = four.y;
        own.codes[k + 2] = four.z;
        own.codes[k + 3] = four.w;
    }
}

// The steps of a thread's words, and their sum.
TM_DEVICE u32 count_steps(const Tables* tables, const Batch* batch, EmitWords& own) {
    u32 all = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        const u32 code = own.codes[k];
        own.steps[k] = code < kMany ? 1 : kWork + 2 + (code >> kManyShift & 7);
        all |= code;
    }
    if (all >> 31 != 0) {
        count_lists(tables->long_slots, batch->misses, own);
    }
    u32 sum = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        sum += own.steps[k];
    }
    return sum;
}
