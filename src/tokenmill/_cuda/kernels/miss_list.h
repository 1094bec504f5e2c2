// The words of a tile that no table knows -> records in Batch::misses, in the order of the text.
#pragma once

#include "tile_words.h"

// Reserves a range of misses for a tile: its misses are neighbours, in the order of the text.
//   missed      1 0 1 1 | 0 1 0 0      a bit for each word of the tile
//   miss_ranks  0       | 3            misses before each 32 words
TM_DEVICE void reserve_misses(const Batch* batch, LookUpTile& tile) {
    LookUpSums ranks;
    TM_THREADS(t, kLookUpThreads) {
        ranks[t] = t < TM_TILE_WORDS ? count_bits(tile.missed[t]) : 0;
    }
    const u32 count = sums_before(ranks);
    TM_THREADS(t, kLookUpThreads) {
        if (t < TM_TILE_WORDS) {
            tile.miss_ranks[t] = ranks[t];
        }
        if (t == 0) {
            const u32 first = atomicAdd(&batch->counters[kMissCount], count);
            tile.has_room = u64(first) + count <= batch->miss_capacity ? 1 : 0;
            tile.first_miss = first;
            batch->tile_misses[2 * TM_BLOCK] = first;
            batch->tile_misses[2 * TM_BLOCK + 1] = tile.has_room != 0 ? count : 0;
        }
    }
    TM_SYNC();
}

TM_DEVICE u32 miss_hash(const Batch* batch, const u32* text, u32 base, const TileWord& word) {
    if (word.size <= kLearntWord) {
        return hash_words(text + word.place / 4, word.place % 4, word.size);
    }
    u32 hash = word.size;
    for (u32 i = 0; i + 4 <= word.size && i < 128; i += 4) {
        hash = hash_more(hash, text_word(batch->text, base + word.place + i));
    }
    return spread(hash);
}

TM_DEVICE u32 write_miss(const Batch* batch, u32 base, u32 index, const TileWord& word,
                         const LookUpTile& tile) {
    if (tile.has_room == 0) {
        leave_document_at(batch, base + word.place, kOverflow);
        return kLost;
    }
    const u32 before = tile.missed[index / 32] & ((1u << index % 32) - 1);
    const u32 miss = tile.first_miss + tile.miss_ranks[index / 32] + count_bits(before);
    batch->misses[miss] = make_uint4(base + word.place, word.size | (word.piece ? kPiece : 0),
                                     miss_hash(batch, tile.text, base, word), 0);
    return kMiss | miss;
}

TM_DEVICE void write_misses(const Batch* batch, u32 base, u32 first, const TileRound& round,
                            LookUpTile& tile) {
    TM_THREADS(t, kLookUpThreads) {
        for (u32 i = round.window + t; i < round.end; i += kLookUpThreads) {
            if ((tile.missed[i / 32] >> (i % 32) & 1) != 0) {
                const TileWord word = word_at(tile, i - round.window, i + 1 == round.words);
                const u32 code = write_miss(batch, base, i, word, tile);
                batch->codes[first + i] = code | (word.opens ? kOpens : 0);
            }
        }
    }
    TM_SYNC();
}
