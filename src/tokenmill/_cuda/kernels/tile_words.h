// The words of a tile in shared memory: its text, and a list of where words start.
//
//   start_bits  1 0 0 1 0 1 0 ...      a bit for each byte, 32 in a thread
//   ranks       thread 0: 0, thread 1: 3, ...   words before the thread's first
//   starts      [0] 0  [1] 3  [2] 5 ...         place of word 0, 1, 2 in the tile
//
// A list holds kListedWords words, so a tile of many short words takes several rounds.
#pragma once

#include "words.h"

static_assert(TM_TILE % 32 == 0 && TM_TILE <= 8192, "places in a tile have 13 bits");

constexpr u32 kLookUpThreads = 256;
// Few words in a round, because shared memory is taken from the cache that holds frequent words.
constexpr u32 kListedWords = TM_TILE < 2048 ? TM_TILE : 2048;
constexpr u32 kStagedWords = TM_TILE / 4 + 20;  // a word of 63 bytes may start at the last byte
constexpr u32 kPlace = 8191;
constexpr u32 kOpensDocument = 1u << 13;
constexpr u32 kAfterCut = 1u << 14;
constexpr u32 kIsAdded = 1u << 15;
constexpr u32 kAddedSize = kIsAdded << 1;  // added to the size of a word that is an added token

struct LookUpTile {
    TM_ALIGN16 u32 text[kStagedWords];
    u16 starts[kListedWords + 1];  // of a round: place of a word and the bits above
    u32 missed[TM_TILE_WORDS];     // a bit for each word
    u32 miss_ranks[TM_TILE_WORDS];
    u32 any_missed;
    u16 put_off[kListedWords];  // words of the round that are not in the first entry of their hash
    u32 put_off_count;
    u32 last_end;  // of the last word, from the start of the tile
    u32 last_cut;  // kAfterCut if a piece starts there
    u32 has_added;
    u32 id_count;
    u32 first_miss;
    u32 has_room;
};

// The bits of one thread's 32 bytes.
struct TileBits {
    u32 starts;
    u32 opens;
    u32 cuts;
};

using TileThreads = PerThread<TileBits, kLookUpThreads>;
using LookUpSums = PerThread<u32, kLookUpThreads>;
static_assert(TM_TILE_WORDS <= kLookUpThreads, "a thread has one word of start_bits");

// A word of a tile.
struct TileWord {
    u32 place;
    u32 size;
    bool piece;  // or what TM_IN_FRONT and TM_CLOSING need to know
    bool opens;
};

// Where the last word of a tile ends. A word longer than the longest that is merged is not followed
// to its end.
TM_DEVICE void find_last_end(const Batch* batch, u32 base, LookUpTile& tile) {
    const u32* bits = batch->start_bits;
    const u32 first = (base + TM_TILE) / 32;
    const u32 all = u32(batch->tiles) * TM_TILE_WORDS;
    const u32 limit = first + kMergedWord / 32 + 1 < all ? first + kMergedWord / 32 + 1 : all;
    u32 end = 32 * limit;
    tile.last_cut = 0;
    for (u32 i = first; i < limit; ++i) {
        if (bits[i] != 0) {
            const u32 bit = lowest_bit(bits[i]);
            end = 32 * i + bit;
            tile.last_cut = TM_PIECES && (batch->cut_bits[i] >> bit & 1) != 0 ? kAfterCut : 0;
#if TM_CLOSING
            tile.last_cut = (batch->doc_bits[i + 1] >> bit & 1) * kOpensDocument;
#endif
            break;
        }
    }
    const u32 size = u32(batch->size);
#if TM_CLOSING
    tile.last_cut |= end >= size ? kOpensDocument : 0;
#endif
    tile.last_end = (end < size ? end : size) - base;
}

TM_DEVICE TileBits tile_bits(const Batch* batch, u32 base, u32 t) {
    if (t >= TM_TILE_WORDS) {
        return {0, 0, 0};
    }
    const u32 at = base / 32 + t;
    return {batch->start_bits[at], batch->doc_bits[at + 1], TM_PIECES ? batch->cut_bits[at] : 0};
}

TM_DEVICE void load_bits(const Batch* batch, u32 base, TileThreads& bits) {
    TM_THREADS(t, kLookUpThreads) {
        bits[t] = tile_bits(batch, base, t);
    }
}

TM_DEVICE void stage_tile(const Batch* batch, u32 base, TileThreads& bits, LookUpSums& ranks,
                          LookUpTile& tile) {
    const uint4* text = reinterpret_cast<const uint4*>(batch->text + base);
    const u32 readable = u32(batch->size) + 64 - base;
    load_bits(batch, base, bits);
    TM_THREADS(t, kLookUpThreads) {
        uint4* staged = reinterpret_cast<uint4*>(tile.text);
        for (u32 i = t; i < kStagedWords / 4; i += kLookUpThreads) {
            staged[i] = 16 * i < readable ? read_once(text + i) : make_uint4(0, 0, 0, 0);
        }
        if (t < TM_TILE_WORDS) {
            tile.missed[t] = 0;
        }
        if (t == 0) {
            tile.id_count = 0;
            tile.any_missed = 0;
            tile.has_added = batch->tile_again[base / TM_TILE] & kHasSpan;
        }
        if (t == kLookUpThreads - 1) {
            find_last_end(batch, base, tile);
        }
        ranks[t] = count_bits(bits[t].starts);
    }
}

// Lists the words of a round, and the first one after it, where the last word ends.
TM_DEVICE void list_starts(TileThreads& bits, LookUpSums& ranks, u32 window, LookUpTile& tile) {
    TM_THREADS(t, kLookUpThreads) {
        if (t == 0) {
            tile.put_off_count = 0;
        }
        const TileBits own = bits[t];
        u32 rank = ranks[t] - window;
        TM_ROLLED
        for (u32 left = own.starts; left != 0; left &= left - 1) {
            const u32 bit = lowest_bit(left);
            const u32 marks =
                (own.opens >> bit & 1) * kOpensDocument | (own.cuts >> bit & 1) * kAfterCut;
            if (rank <= kListedWords) {
                tile.starts[rank] = u16(32 * t + bit + marks);
            }
            ++rank;
        }
    }
    TM_SYNC();
}

// Marks the words of a round that are added tokens. They look like words too long for the first
// look-up, so that it need not know them.
TM_DEVICE void mark_added(const Batch* batch, u32 base, TileThreads& bits, LookUpSums& ranks,
                          u32 window, LookUpTile& tile) {
    TM_THREADS(t, kLookUpThreads) {
        const u32 added = t < TM_TILE_WORDS ? batch->span_bits[base / 32 + t] : 0;
        for (u32 left = added & bits[t].starts; left != 0; left &= left - 1) {
            const u32 before = bits[t].starts & ((1u << lowest_bit(left)) - 1);
            const u32 rank = ranks[t] - window + count_bits(before);
            if (rank <= kListedWords) {
                tile.starts[rank] |= kIsAdded;
            }
        }
    }
    TM_SYNC();
}

TM_DEVICE TileWord word_at(const LookUpTile& tile, u32 index, bool last) {
    const u32 start = tile.starts[index];
    const u32 next = last ? tile.last_cut : tile.starts[index + 1];
    const u32 place = start & kPlace;
    const u32 end = last ? tile.last_end : next & kPlace;
    const bool opens = (start & kOpensDocument) != 0;
#if TM_IN_FRONT
    const u32 first = tile.text[place / 4] >> 8 * (place % 4) & 255;
    const bool piece = opens && (TM_IN_FRONT == 1 || first != ' ');
#elif TM_CLOSING
    const bool piece = (next & kOpensDocument) != 0;
#else
    const bool piece = TM_PIECES != 0 && ((start | next) & kAfterCut) != 0;
#endif
    const u32 size = end - place + (start & kIsAdded) * (kAddedSize / kIsAdded);
    return {place, size, piece, opens};
}

// The words `window` to `end` of a tile's words.
struct TileRound {
    u32 window;
    u32 end;
    u32 words;
};

TM_DEVICE TileRound tile_round(u32 window, u32 words) {
    return {window, words - window < kListedWords ? words : window + kListedWords, words};
}
