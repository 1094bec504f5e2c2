// The masks of a tile in shared memory, and windows on them.
//
//   words of 32 bytes   before |  0  |  1  | ... | 255 | after      TM_MASK_WORDS = 256 + 2
//   index i in a mask     0       1     2          256   257
//
// A tile is TM_TILE bytes, one block has one tile, and thread t owns the 32 bytes of word t + 1. A
// word on either side makes the windows of the first and the last thread whole.
#pragma once

#include "masks.h"

// Of a tile: a word before it, its own, and a word after it.
#define TM_MASK_WORDS (TM_TILE_WORDS + 2)

enum MaskName : u32 {
    kMaskLetter,
    kMaskNumber,
    kMaskWhite,
    kMaskSpace,
    kMaskInside,
#if TM_CONTRACTION != 0
    kMaskApostrophe,
#endif
#if TM_FAMILY >= 2
    kMaskNewline,
#endif
#if TM_TAIL == 2
    kMaskSlash,
#endif
#if TM_CASED
    kMaskUpper,
    kMaskLower,
    kMaskHard,
#endif
#if TM_ISOLATE_HAN
    kMaskHan,
#endif
    kMaskCount,
};

constexpr u32 kUnknown = 255;

// Answers for runs that reach beyond the masks.
struct Edges {
    u32 absorbed;  // is the first byte of the masks part of the punctuation before: 0, 1, kUnknown
    u32 digits;    // numbers directly before the masks, modulo a group, or kUnknown
    u32 white;     // the RunEnd of blanks that continue after the masks
};

struct Tile {
    const u32* masks;
    const Edges* edges;
    Text text;
    int first_word;  // of the masks, in the text

    TM_DEVICE u32 word(MaskName name, u32 i) const { return masks[name * TM_MASK_WORDS + i]; }
    TM_DEVICE u32 documents(u32 i) const { return document_word(text, first_word + int(i)); }
    TM_DEVICE u32 hard(u32 i) const {
#if TM_CASED
        return word(kMaskHard, i);
#else
        (void)i;
        return 0;
#endif
    }
    TM_DEVICE u32 other(u32 i) const {
        const u32 rest = ~(word(kMaskLetter, i) | word(kMaskNumber, i) | word(kMaskWhite, i));
#if TM_ISOLATE_HAN
        return rest & ~word(kMaskHan, i);
#else
        return rest;
#endif
    }
#if TM_FAMILY >= 2
    // What belongs to the punctuation before it, from the first newline on.
    TM_DEVICE u32 tail(u32 i) const {
#if TM_TAIL == 2
        return word(kMaskNewline, i) | word(kMaskSlash, i);
#else
        return word(kMaskNewline, i);
#endif
    }
#endif
    // The 32 bits of word i, and 16 on either side.
    //   word i - 1   |   word i    |   word i + 1
    //        [16..31 | 0 ..... 31 | 0..15]          -> 64 bits
    TM_DEVICE u64 window(MaskName name, u32 i) const {
        const u32 own = word(name, i);
        return u64(funnel(own, word(name, i + 1), 16)) << 32 | funnel(word(name, i - 1), own, 16);
    }
};
