// look_up: the words of a tile -> a code for each, how many ids they have, and the words that no
// table knows, as misses.
#pragma once

#include "miss_list.h"
#include "tile_words.h"

// The code of a word, and how many ids it has; kLost for a word that no table knows.
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
    if (TM_LOOKS_UP && count == 0) {
        return kNothing;
    }
    if (count == 1) {
        return kOne | (value.x & kExternalMask);
    }
    if (count == kElsewhere) {
        count = value.w;
        return kLong | value.z;
    }
    return kMany | (count - 2) << kManyShift | slot;
}

TM_DEVICE u32 written_code(u32 code, const TileWord& word) {
    const u32 own = TM_LOOKS_UP && code == kNothing ? kLost : code;
    return own | (word.opens ? kOpens : 0);
}

// Can the kernels merge the word? A run of bytes that are added tokens has other ids if it is
// longer than the longest of them.
TM_DEVICE bool can_merge(const u32* text, const TileWord& word) {
#if TM_RUN_BYTES
    const u32 first = text[word.place / 4] >> 8 * (word.place % 4) & 255;
    if (word.size > TM_LONGEST_RUN && first < 32 && (TM_RUN_BYTES >> first & 1) != 0) {
        return false;
    }
#else
    (void)text;
#endif
    return word.size + (TM_IN_FRONT != 0 && word.piece ? 1 : 0) <= kMergedWord;
}

// Writes the code of a word, or marks it as missing. Returns how many ids it has.
TM_DEVICE u32 look_up_word(const Tables* tables, const Batch* batch, const WordTable& table,
                           u32 base, u32 first, u32 index, const TileWord& word, LookUpTile& tile) {
    if (word.size >= kAddedSize) {
        const u32 id = batch->arena[arena_place(base + word.place)];
        write_once(batch->codes + first + index, kOne | id | (word.opens ? kOpens : 0));
        return 1;
    }
    u32 count = 0;
    const u32 code = known_code(tables, table, tile.text, word, count);
    if (code == kLost && can_merge(tile.text, word)) {
        atomicOr(&tile.missed[index / 32], 1u << (index % 32));
        tile.any_missed = 1;
        return 0;
    }
    if (code == kLost) {
        leave_document_at(batch, base + word.place, kLongWord);
    }
    write_once(batch->codes + first + index, written_code(code, word));
    return count;
}

// The code of a word that is in the first entry of its hash, or kLost. Most words are, and without
// a loop all threads of a warp do the same work.
TM_DEVICE u32 quick_code(const WordTable& table, const u32* text, const TileWord& word,
                         u32& count) {
    const uint4 key = make_key(text + word.place / 4, word.place % 4, word.size, word.piece);
    const u32 slot = hash_key(key) & table.mask;
    const uint4 found = read_table(table.words + 2 * u64(slot));
    const uint4 value = read_table(table.words + 2 * u64(slot) + 1);
    count = value_count(value);
    const bool known = word.size <= kShortWord && same_words(found, key) && count != kElsewhere;
    const u32 one = kOne | (value.x & kExternalMask);
    const u32 many =
        TM_LOOKS_UP && count == 0 ? kNothing : kMany | (count - 2) << kManyShift | slot;
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
                write_once(codes + i, written_code(code, word));
            } else {
                tile.put_off[atomicAdd(&tile.put_off_count, 1u)] = u16(i - round.window);
            }
        }
        add_over_warp(&tile.id_count, ids, t);
    }
    TM_SYNC();
}

// Words that were put off are listed, so that few warps wait for the slow look-ups.
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

// look_up: start_bits, text, word tables -> codes, tile_ids, misses, tile_misses.
//
// A block owns a tile, thread t the starts in its bytes 32 t to 32 t + 31; after they are listed,
// words go to threads in turn, so that each thread has about the same number of them.
//   stage_tile     text and bits of the tile -> shared memory
//   list_starts    each thread writes the places of its words to tile.starts
//   look_up_words  a thread per word: first the entry of its hash, then, for those put off, all
//   reserve_misses, write_misses   only if a word was missing
// Each step ends with a barrier, because the next one reads what other threads wrote. Atomics:
// put_off is a list in any order, whose words write only their own code; `missed` has one bit a
// word; one global atomic a tile reserves room for its misses, so their numbers depend on the order
// of blocks, but no id does.
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
        if (tile.has_added != 0) {
            mark_added(batch, base, bits, ranks, window, tile);
        }
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
