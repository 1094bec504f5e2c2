// find_raw_added, find_normal_added, join_added: listed tiles -> the added tokens in them.
#pragma once

#include "added.h"
#include "checks.h"

constexpr u32 kAddedWords = kHaloWords + TM_TILE_WORDS;

// The matches of a tile and of the bytes before it.
struct AddedTile {
    u32 matches[kAddedWords];
    u32 covered[kAddedWords];
    u8 sizes[32 * kAddedWords];
};

TM_DEVICE AddedSearch added_search(const Tables* tables, const Batch* batch, bool is_raw) {
    const u32* const nodes = is_raw ? tables->raw_nodes : tables->normal_nodes;
    const u32* const runs = tables->added_runs;
    const AddedTrie trie = {(const uint4*)nodes, is_raw ? tables->raw_edges : tables->normal_edges,
                            is_raw ? runs : runs + 256, runs, is_raw};
    return {tables, batch, text_of(batch), trie};
}

// Marks a match, and the places that it reaches over; `at` counts from the halo.
TM_DEVICE void add_match(u32 at, u32 size, AddedTile& kept) {
    atomicOr(&kept.matches[at >> 5], 1U << (at & 31));
    kept.sizes[at] = u8(size);
    for (u32 i = at + 1; i < at + size && i < 32 * kAddedWords;) {
        const u32 stop = (i | 31) + 1 < at + size ? (i | 31) + 1 : at + size;
        atomicOr(&kept.covered[i >> 5], (~0U >> (32 - (stop - i))) << (i & 31));
        i = stop;
    }
}

// A bit for each of 32 bytes that is equal to the next one; `after` is the byte after them.
TM_DEVICE u32 same_as_next(const Bytes32& b, u32 after) {
    u32 mask = 0;
    u32 next = after;
    // The high bit of each byte that is zero, without exception.
#define TM_PUSH(bytes)                                                                   \
    {                                                                                    \
        const u32 other = (bytes) ^ funnel(bytes, next, 8);                              \
        const u32 zero = ~(((other & 0x7F7F7F7FU) + 0x7F7F7F7FU) | other | 0x7F7F7F7FU); \
        mask = push_four(mask, zero);                                                    \
        next = bytes;                                                                    \
    }
    TM_EACH_FOUR_BACKWARDS(b, TM_PUSH)
#undef TM_PUSH
    return mask;
}

// The matches that start in word i of the tile and its halo.
TM_DEVICE void match_word(const AddedSearch& search, u32 tile, u32 i, AddedTile& kept) {
    const int word = int(tile * TM_TILE_WORDS + i) - int(kHaloWords);
    if (word < 0 || u32(word) * 32 >= search.text.size) {
        return;
    }
    const u32 base = u32(word) * 32;
    const u32 left = search.text.size - base;
    const u32 taken = search.trie.is_raw ? 0 : search.batch->raw_bits[word];
    const u32 valid = (left < 32 ? (1U << left) - 1 : ~0U) & ~taken;
    const Bytes32 bytes = read_bytes(search.text.bytes, word);
    u32 candidates = may_begin_added(search.tables, bytes) & valid;
    if (candidates == 0) {
        return;
    }
    const u32 same = same_as_next(bytes, search.text.bytes[base + 32]);
    const u32 tail = same >> 31 != 0 ? search.run_at(base + 32) : 0;
    TM_ROLLED
    for (; candidates != 0; candidates &= candidates - 1) {
        const u32 k = lowest_bit(candidates);
        const u32 stops = ~same >> k;  // the last byte of a run
        const u32 run = stops == 0 ? 32 - k + tail : lowest_bit(stops) + 1;
        const u32 size = search.longest(base + k, run).size;
        if (size != 0) {
            add_match(32 * i + k, size, kept);
        }
    }
}

// The size of the match at a place of the text, 0 if there is none.
TM_DEVICE u32 match_size(const AddedSearch& search, const AddedTile& kept, u32 halo, u32 position) {
    const u32 at = position - halo;
    if (at < 32 * kAddedWords) {
        return (kept.matches[at >> 5] >> (at & 31) & 1) != 0 ? kept.sizes[at] : 0;
    }
    return search.longest(position).size;
}

// Walks from a head to the next place that no match reaches over. `halo` is the place of the
// tile's halo, which may be before the text.
TM_DEVICE void walk_matches(const AddedSearch& search, const AddedTile& kept, u32 halo, u32 head) {
    u32 reach = head;
    u32 visit = head;
    u32 at = head;
    do {
        const u32 size = match_size(search, kept, halo, at);
        reach = at + size > reach ? at + size : reach;
        if (at == visit) {
            visit += size == 0 ? 1 : size;
            if (size != 0) {
                search.take(at, search.longest(at));
            }
        }
        ++at;
    } while (at < reach && at - head < kLongestChain);
    if (at < reach) {
        leave_document_at(search.batch, head, kAddedToken);
    }
}

// A block has a tile at a time, a thread every TM_TILE_WORDS-th word of it and its halo. Barriers:
// the masks are zero; all matches are marked; all walks are done. Walks write to any tile, with
// atomics; a place of the text belongs to one walk, so the order does not matter.
TM_DEVICE void find_in_tile(const AddedSearch& search, u32 tile, AddedTile& kept) {
    TM_THREADS(t, TM_TILE_WORDS) {
        for (u32 i = t; i < kAddedWords; i += TM_TILE_WORDS) {
            kept.matches[i] = 0;
            kept.covered[i] = 0;
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        for (u32 i = t; i < kAddedWords; i += TM_TILE_WORDS) {
            match_word(search, tile, i, kept);
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        const u32 i = kHaloWords + t;
        const u32 halo = tile * TM_TILE - 32 * kHaloWords;
        for (u32 heads = kept.matches[i] & ~kept.covered[i]; heads != 0; heads &= heads - 1) {
            walk_matches(search, kept, halo, halo + 32 * i + lowest_bit(heads));
        }
    }
    TM_SYNC();
}

// find_raw_added: added_tiles, text -> span_bits, inner_bits, raw_bits, ids in arena, again_tiles.
TM_KERNEL(TM_TILE_WORDS) find_raw_added(const Tables* tables, const Batch* batch) {
    TM_SHARED AddedTile kept;
    const u32 count = batch->counters[kAddedTiles];
    const AddedSearch search = added_search(tables, batch, true);
    for (u32 i = TM_BLOCK; i < count; i += TM_BLOCKS) {
        find_in_tile(search, batch->added_tiles[i], kept);
    }
}

// find_normal_added: the same for tokens of the text between those; it reads raw_bits.
TM_KERNEL(TM_TILE_WORDS) find_normal_added(const Tables* tables, const Batch* batch) {
    TM_SHARED AddedTile kept;
    const u32 count = batch->counters[kAddedTiles];
    const AddedSearch search = added_search(tables, batch, false);
    for (u32 i = TM_BLOCK; i < count; i += TM_BLOCKS) {
        find_in_tile(search, batch->added_tiles[i], kept);
    }
}

// Lists a tile for bounds_again, if nobody has; returns the reasons that it already had.
TM_DEVICE u32 list_again(const Batch* batch, u32 tile, u32 reason) {
    const u32 had = atomicOr(batch->tile_again + tile, reason);
    if ((had & ~kMayAdd) == 0) {
        const u32 at = batch->counters[kSpanTiles] + atomicAdd(batch->counters + kAgainTiles, 1u);
        batch->again_tiles[at] = tile;
    }
    return had;
}

// A token ends the text before it, and that changes words of its document, but of no other one. So
// all tiles of the first and the last document of a tile are listed. A thread that came to a tile
// before has listed the rest.
TM_DEVICE void list_documents(const Batch* batch, u32 tile) {
    const u32 begin = tile * TM_TILE;
    const u32 end = begin + TM_TILE < u32(batch->size) ? begin + TM_TILE : u32(batch->size);
    const u32 first = batch->doc_begin[document_at(batch, begin)];
    const u32 last = batch->doc_begin[document_at(batch, end - 1) + 1];
    for (u32 k = tile; k * TM_TILE > first; --k) {
        if ((list_again(batch, k - 1, kBeforeSpan) & kBeforeSpan) != 0) {
            break;
        }
    }
    for (u32 k = tile + 1; k * TM_TILE < last; ++k) {
        if ((list_again(batch, k, kAfterSpan) & kAfterSpan) != 0) {
            break;
        }
    }
}

// join_added: span_bits, inner_bits -> doc_bits, again_tiles.
//
//   text    a b < s > c         Both ends of a token become starts in doc_bits: for the split, the
//   span    0 0 1 0 0 0         text before and after it are documents of their own. Later kernels
//   inner   0 0 0 1 1 0         read doc_bits only to know the first words of documents, and some
//   starts  0 0 1 0 0 1         words more do no harm.
//
// A block has a tile at a time, a thread 32 bytes of it. Blocks write disjoint words of doc_bits.
TM_KERNEL(TM_TILE_WORDS) join_added(const Tables*, const Batch* batch) {
    const u32 count = batch->counters[kSpanTiles];
    for (u32 i = TM_BLOCK; i < count; i += TM_BLOCKS) {
        const u32 tile = batch->again_tiles[i];
        TM_THREADS(t, TM_TILE_WORDS) {
            const u32 word = tile * TM_TILE_WORDS + t;
            const u32 left = u32(batch->size) > word * 32 ? u32(batch->size) - word * 32 : 0;
            const u32 valid = left < 32 ? (1U << left) - 1 : ~0U;
            const u32 inner = batch->inner_bits[word];
            const u32 bits = batch->span_bits[word] | inner;
            const u32 before =
                word == 0 ? 0 : (batch->span_bits[word - 1] | batch->inner_bits[word - 1]) >> 31;
            const u32 starts = (bits | bits << 1 | before) & ~inner & valid;
            if (starts != 0) {
                batch->doc_bits[word + 1] |= starts;
            }
            if (t == 0) {
                list_documents(batch, tile);
            }
        }
    }
}
