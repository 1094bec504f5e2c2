// look_up: the words of a tile -> a code for each, how many ids they have, and the words that no
// table knows, as misses. One block a tile.
#pragma once

static_assert(TM_TILE % 32 == 0 && TM_TILE <= 8192, "places in a tile have 13 bits");

constexpr u32 kLookUpThreads = 256;
// Words of a round: few, because shared memory is taken from the cache that holds frequent words.
constexpr u32 kListedWords = TM_TILE < 2048 ? TM_TILE : 2048;
constexpr u32 kStagedWords = TM_TILE / 4 + 20;  // a word of 63 bytes may begin at the last byte
constexpr u32 kPlace = 8191;
constexpr u32 kOpensDocument = 1u << 13;
constexpr u32 kAfterCut = 1u << 14;

struct LookUpTile {
    TM_ALIGN16 u32 text[kStagedWords];
    u16 starts[kListedWords + 1];  // of a round: place of a word | kOpensDocument | kAfterCut
    u32 missed[TM_TILE_WORDS];     // a bit for each word
    u32 miss_ranks[TM_TILE_WORDS];
    u32 any_missed;
    u16 put_off[kListedWords];  // words of the round that are not where their hash says
    u32 put_off_count;
    u32 last_end;  // of the last word, from the begin of the tile
    u32 last_cut;  // kAfterCut if a piece begins there
    u32 id_count;
    u32 first_miss;
    u32 has_room;
};

// 32 bytes of a tile, those of one thread.
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
        }
        if (t == kLookUpThreads - 1) {
            find_last_end(batch, base, tile);
        }
        ranks[t] = count_bits(bits[t].starts);
    }
}

// The starts of a round, and the one behind it.
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

TM_DEVICE TileWord word_at(const LookUpTile& tile, u32 index, bool last) {
    const u32 start = tile.starts[index];
    const u32 next = last ? tile.last_cut : tile.starts[index + 1];
    const u32 place = start & kPlace;
    const u32 end = last ? tile.last_end : next & kPlace;
    const bool piece = TM_PIECES != 0 && ((start | next) & kAfterCut) != 0;
    return {place, end - place, piece, (start & kOpensDocument) != 0};
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

// Words of a tile that are in its round, out of all that it has.
struct TileRound {
    u32 window;
    u32 end;
    u32 words;
};

TM_DEVICE TileRound tile_round(u32 window, u32 words) {
    return {window, words - window < kListedWords ? words : window + kListedWords, words};
}

// What was found out about a word: its code, or that it is missing. Returns how many ids it has.
TM_DEVICE u32 look_up_word(const Tables* tables, const Batch* batch, const WordTable& table,
                           u32 base, u32 first, u32 index, const TileWord& word, LookUpTile& tile) {
    u32 count = 0;
    const u32 code = known_code(tables, table, tile.text, word, count);
    if (code == kLost && word.size <= kMergedWord) {
        atomicOr(&tile.missed[index / 32], 1u << (index % 32));
        tile.any_missed = 1;
        return 0;
    }
    if (code == kLost) {
        leave_document_at(batch, base + word.place, kLongWord);
    }
    write_once(batch->codes + first + index, code | (word.opens ? kOpens : 0));
    return count;
}

// The code of a word whose ids are in the entry that its hash says; if they are not, kLost. Most
// words are there, and all threads do the same.
TM_DEVICE u32 quick_code(const WordTable& table, const u32* text, const TileWord& word,
                         u32& count) {
    const uint4 key = make_key(text + word.place / 4, word.place % 4, word.size, word.piece);
    const u32 slot = hash_key(key) & table.mask;
    const uint4 found = read_table(table.words + 2 * u64(slot));
    const uint4 value = read_table(table.words + 2 * u64(slot) + 1);
    count = value_count(value);
    const bool known = word.size <= kShortWord && same_words(found, key) && count != kElsewhere;
    const u32 one = kOne | (value.x & kExternalMask);
    const u32 many = kMany | (count - 2) << kManyShift | slot;
    return known ? (count == 1 ? one : many) : kLost;
}

TM_DEVICE void look_up_quickly(const Batch* batch, const WordTable& table, u32 first,
                               const TileRound& round, LookUpTile& tile) {
    u32* codes = batch->codes + first;
    TM_THREADS(t, kLookUpThreads) {
        u32 ids = 0;
        TM_ROLLED
        for (u32 i = round.window + t; i < round.end; i += kLookUpThreads) {
            const TileWord word = word_at(tile, i - round.window, i + 1 == round.words);
            u32 count = 0;
            const u32 code = quick_code(table, tile.text, word, count);
            if (code != kLost) {
                ids += count;
                write_once(codes + i, code | (word.opens ? kOpens : 0));
            } else {
                tile.put_off[atomicAdd(&tile.put_off_count, 1u)] = u16(i - round.window);
            }
        }
        add_over_warp(&tile.id_count, ids, t);
    }
    TM_SYNC();
}

// Those that were put off stand side by side, so that few warps wait for them.
TM_DEVICE void look_up_words(const Tables* tables, const Batch* batch, u32 base, u32 first,
                             const TileRound& round, LookUpTile& tile) {
    const WordTable table{tables->words, u32(tables->words_mask)};
    look_up_quickly(batch, table, first, round, tile);
    const u32 count = tile.put_off_count;
    TM_THREADS(t, kLookUpThreads) {
        u32 ids = 0;
        TM_ROLLED
        for (u32 k = t; k < count; k += kLookUpThreads) {
            const u32 at = tile.put_off[k];
            const u32 i = round.window + at;
            const TileWord word = word_at(tile, at, i + 1 == round.words);
            ids += look_up_word(tables, batch, table, base, first, i, word, tile);
        }
        add_over_warp(&tile.id_count, ids, t);
    }
    TM_SYNC();
}

// All misses of a tile stand side by side, in the order of the text.
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

TM_KERNEL(256, 6) look_up(const Tables* tables, const Batch* batch) {
    TM_SHARED LookUpTile tile;
    assume_threads<kLookUpThreads>();
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    const u32 base = TM_BLOCK * TM_TILE;
    const u32 first = batch->word_base[TM_BLOCK];
    TileThreads bits;
    LookUpSums ranks;
    stage_tile(batch, base, bits, ranks, tile);
    const u32 words = sums_before(ranks);
    u32 window = 0;
    do {
        if (window != 0) {
            load_bits(batch, base, bits);
        }
        list_starts(bits, ranks, window, tile);
        look_up_words(tables, batch, base, first, tile_round(window, words), tile);
        window += kListedWords;
    } while (window < words);
    TM_THREADS(t, 1) {
        batch->tile_ids[TM_BLOCK] = tile.id_count;
        if (tile.any_missed == 0) {
            batch->tile_misses[2 * TM_BLOCK] = 0;
            batch->tile_misses[2 * TM_BLOCK + 1] = 0;
        }
    }
    if (tile.any_missed == 0) {
        return;
    }
    reserve_misses(batch, tile);
    for (window = 0; window < words; window += kListedWords) {
        if (words > kListedWords) {
            load_bits(batch, base, bits);
            list_starts(bits, ranks, window, tile);
        }
        write_misses(batch, base, first, tile_round(window, words), tile);
    }
}
