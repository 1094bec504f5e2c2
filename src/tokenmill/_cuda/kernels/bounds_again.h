// The words of tiles with added tokens, found again.
#pragma once

#include "bounds.h"

// bounds_again: the same for the tiles of documents with added tokens, whose ends are in doc_bits.
// A block takes every TM_BLOCKS-th of them; the barrier separates them.
TM_KERNEL(TM_TILE_WORDS) bounds_again(const Tables* tables, const Batch* batch) {
    TM_SHARED TileStarts out;
#if TM_CHARACTERS
    TM_SHARED PairBits pairs;
#elif TM_LOOKS_UP
    TM_SHARED AsciiClasses ascii;
#elif TM_FAMILY != 0
    TM_SHARED Kept kept;
    TM_SHARED HardWords hard;
#else
    TM_SHARED u32 arrivals[TM_TILE_WORDS];
#endif
    const u32 count = batch->counters[kSpanTiles] + batch->counters[kAgainTiles];
    for (u32 i = TM_BLOCK; i < count; i += TM_BLOCKS) {
        const TileJob<false> job = {tables, batch, text_of(batch), batch->again_tiles[i]};
#if TM_CHARACTERS
        pairs_of_tile(job, pairs, out);
#elif TM_LOOKS_UP
        classes_of_tile(job, ascii, out);
#elif TM_FAMILY != 0
        masks_of_tile(job, kept, hard, out);
#else
        scan_tile<0>(job, arrivals, out);
#endif
        TM_SYNC();
    }
}
