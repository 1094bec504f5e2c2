// look_up: the words of a tile -> a code for each, how many ids they have, and the words that no
// table knows, as misses. One block a tile.
#pragma once

static_assert(TM_TILE % 32 == 0 && TM_TILE <= 8192, "places in a tile have 13 bits");

constexpr u32 kLookUpThreads = 256;
constexpr u32 kStagedWords = TM_TILE / 4 + 20;  // a word of 63 bytes may begin at the last byte
constexpr u32 kPlace = 8191;
constexpr u32 kOpensDocument = 1u << 13;
constexpr u32 kAfterCut = 1u << 14;

struct LookUpTile {
    TM_ALIGN16 u32 text[kStagedWords];
    u16 starts[TM_TILE];           // place of each word | kOpensDocument | kAfterCut
    u32 ranks[TM_TILE_WORDS + 1];  // words before each word of start_bits
    u32 missed[TM_TILE_WORDS];     // a bit for each word
    u32 miss_ranks[TM_TILE_WORDS + 1];
    u32 last_end;  // of the last word, from the begin of the tile
    u32 last_cut;  // kAfterCut if a piece begins there
    u32 id_count;
    u32 first_miss;
    u32 has_room;
};

// A word of a tile.
struct TileWord {
    u32 place;
    u32 size;
    bool piece;
    bool opens;
};

// Where the last word of a tile ends. One that goes on for more than the longest that is merged is
// not followed to its end.
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
            break;
        }
    }
    const u32 size = u32(batch->size);
    tile.last_end = (end < size ? end : size) - base;
}

TM_DEVICE void stage_tile(const Batch* batch, u32 base, LookUpTile& tile) {
    const uint4* text = reinterpret_cast<const uint4*>(batch->text + base);
    const u32* bits = batch->start_bits + base / 32;
    const u32 readable = u32(batch->size) + 64 - base;
    TM_THREADS(t, kLookUpThreads) {
        uint4* staged = reinterpret_cast<uint4*>(tile.text);
        for (u32 i = t; i < kStagedWords / 4; i += kLookUpThreads) {
            staged[i] = 16 * i < readable ? read_once(text + i) : make_uint4(0, 0, 0, 0);
        }
        for (u32 i = t; i < TM_TILE_WORDS; i += kLookUpThreads) {
            tile.ranks[i] = count_bits(bits[i]);
            tile.missed[i] = 0;
        }
        if (t == 0) {
            tile.id_count = 0;
        }
        if (t == kLookUpThreads - 1) {
            find_last_end(batch, base, tile);
        }
    }
    TM_SYNC();
    block_prefix<kLookUpThreads>(tile.ranks, TM_TILE_WORDS);
}

TM_DEVICE void list_starts(const Batch* batch, u32 base, LookUpTile& tile) {
    const u32* starts = batch->start_bits + base / 32;
    const u32* documents = batch->doc_bits + base / 32 + 1;
    const u32* cuts = batch->cut_bits + base / 32;
    TM_THREADS(t, kLookUpThreads) {
        for (u32 i = t; i < TM_TILE_WORDS; i += kLookUpThreads) {
            const u32 opens = documents[i];
            const u32 cut = TM_PIECES ? cuts[i] : 0;
            u32 rank = tile.ranks[i];
            for (u32 bits = starts[i]; bits != 0; bits &= bits - 1) {
                const u32 bit = lowest_bit(bits);
                const u32 marks =
                    (opens >> bit & 1) * kOpensDocument | (cut >> bit & 1) * kAfterCut;
                tile.starts[rank++] = u16(32 * i + bit + marks);
            }
        }
    }
    TM_SYNC();
}

TM_DEVICE TileWord word_at(const LookUpTile& tile, u32 index, u32 words) {
    const u32 start = tile.starts[index];
    const bool last = index + 1 == words;
    const u32 next = last ? tile.last_cut : tile.starts[index + 1];
    const u32 place = start & kPlace;
    const u32 end = last ? tile.last_end : next & kPlace;
    return {place, end - place, ((start | next) & kAfterCut) != 0, (start & kOpensDocument) != 0};
}

// The code of a word, and the number of its ids; none for a word that the tables do not know.
TM_DEVICE u32 known_code(const Tables* tables, const WordTable& table, const u32* text,
                         const TileWord& word, u32& count) {
    const u32* words = text + word.place / 4;
    const u32 skip = word.place % 4;
    u32 slot = 0;
    count = 0;
    if (word.size > kShortWord) {
        const bool known = word.size <= kLearntWord &&
                           find_long(tables, words, skip, word.size, word.piece, slot, count);
        return known ? kLong | slot : kLost;
    }
    uint4 value;
    const uint4 key = make_key(words, skip, word.size, word.piece);
    if (!find_word(table, key, slot, value)) {
        return kLost;
    }
    count = value_count(value);
    if (count == 1) {
        return kOne | (value.x & kExternalMask);
    }
    if (count == kElsewhere) {
        count = value.w;
        return kLong | value.z;
    }
    return kMany | (count - 2) << kManyShift | slot;
}

TM_DEVICE void look_up_words(const Tables* tables, const Batch* batch, u32 base, u32 first,
                             LookUpTile& tile) {
    const u32 words = tile.ranks[TM_TILE_WORDS];
    u32* codes = batch->codes + first;
    const WordTable table{tables->words, u32(tables->words_mask)};
    TM_THREADS(t, kLookUpThreads) {
        u32 ids = 0;
        for (u32 i = t; i < words; i += kLookUpThreads) {
            const TileWord word = word_at(tile, i, words);
            u32 count = 0;
            u32 code = known_code(tables, table, tile.text, word, count);
            ids += count;
            if (code == kLost && word.size <= kMergedWord) {
                atomicOr(&tile.missed[i / 32], 1u << (i % 32));
                continue;
            }
            if (code == kLost) {
                leave_document_at(batch, base + word.place, kLongWord);
            }
            write_once(codes + i, code | (word.opens ? kOpens : 0));
        }
        add_over_warp(&tile.id_count, ids, t);
    }
    TM_SYNC();
}

// All misses of a tile stand side by side, in the order of the text.
TM_DEVICE void reserve_misses(const Batch* batch, LookUpTile& tile) {
    TM_THREADS(t, kLookUpThreads) {
        for (u32 i = t; i < TM_TILE_WORDS; i += kLookUpThreads) {
            tile.miss_ranks[i] = count_bits(tile.missed[i]);
        }
    }
    TM_SYNC();
    block_prefix<kLookUpThreads>(tile.miss_ranks, TM_TILE_WORDS);
    TM_THREADS(t, 1) {
        const u32 count = tile.miss_ranks[TM_TILE_WORDS];
        const u32 first = count != 0 ? atomicAdd(&batch->counters[kMissCount], count) : 0;
        tile.has_room = u64(first) + count <= batch->miss_capacity ? 1 : 0;
        tile.first_miss = first;
        batch->tile_ids[TM_BLOCK] = tile.id_count;
        batch->tile_misses[2 * TM_BLOCK] = first;
        batch->tile_misses[2 * TM_BLOCK + 1] = tile.has_room != 0 ? count : 0;
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

TM_DEVICE void write_misses(const Batch* batch, u32 base, u32 first, LookUpTile& tile) {
    const u32 words = tile.ranks[TM_TILE_WORDS];
    TM_THREADS(t, kLookUpThreads) {
        for (u32 i = t; i < words; i += kLookUpThreads) {
            const u32 others = tile.missed[i / 32];
            if ((others >> (i % 32) & 1) == 0) {
                continue;
            }
            const TileWord word = word_at(tile, i, words);
            u32 code = kLost;
            if (tile.has_room != 0) {
                const u32 rank =
                    tile.miss_ranks[i / 32] + count_bits(others & ((1u << i % 32) - 1));
                const u32 miss = tile.first_miss + rank;
                batch->misses[miss] =
                    make_uint4(base + word.place, word.size | (word.piece ? kPiece : 0),
                               miss_hash(batch, tile.text, base, word), 0);
                code = kMiss | miss;
            } else {
                leave_document_at(batch, base + word.place, kOverflow);
            }
            batch->codes[first + i] = code | (word.opens ? kOpens : 0);
        }
    }
}

TM_KERNEL(256) look_up(const Tables* tables, const Batch* batch) {
    TM_SHARED LookUpTile tile;
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    const u32 base = TM_BLOCK * TM_TILE;
    const u32 first = batch->word_base[TM_BLOCK];
    stage_tile(batch, base, tile);
    list_starts(batch, base, tile);
    look_up_words(tables, batch, base, first, tile);
    reserve_misses(batch, tile);
    if (tile.miss_ranks[TM_TILE_WORDS] != 0) {
        write_misses(batch, base, first, tile);
    }
}
