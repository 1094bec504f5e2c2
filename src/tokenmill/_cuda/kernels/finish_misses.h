// finish_misses: the ids of merged words -> every miss that is equal to them.
#pragma once

#include "collect.h"

// finish_misses: misses, miss_counts -> misses[].z and .w (where the ids are, how many), tile_ids.
//
// A block has eight warps, and a warp owns the misses of one tile: its lanes take every 32nd. A
// miss reads .x of its representative, which nobody writes, and writes only its own .z and .w. The
// barriers separate clearing, adding and writing sums[]; one thread adds a tile's sum to tile_ids.
TM_KERNEL(256) finish_misses(const Tables*, const Batch* batch) {
    TM_SHARED u32 sums[8];
    uint4* misses = batch->misses;
    const u32* counts = batch->miss_counts;
    TM_THREADS(t, 8) {
        sums[t] = 0;
    }
    TM_SYNC();
    TM_THREADS(t, 256) {
        const u32 tile = 8 * TM_BLOCK + t / 32;
        const bool inside = tile < batch->tiles;
        const u32 first = inside ? batch->tile_misses[2 * tile] : 0;
        const u32 end = inside ? first + batch->tile_misses[2 * tile + 1] : 0;
        u32 sum = 0;
        for (u32 i = first + t % 32; i < end; i += 32) {
            const u32 representative = misses[i].w;
            const u32 count = counts[representative];
            misses[i].z = arena_place(misses[representative].x);
            sum += count;
            misses[i].w = count;
        }
        add_over_warp(&sums[t / 32], sum, t);
    }
    TM_SYNC();
    TM_THREADS(t, 8) {
        if (8 * TM_BLOCK + t < batch->tiles) {
            batch->tile_ids[8 * TM_BLOCK + t] += sums[t];
        }
    }
}
