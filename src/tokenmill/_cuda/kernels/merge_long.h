// merge_512, merge_long: words of 129 to 512, and of up to 8192 bytes -> their ids in the arena.
// One warp or one block merges a word, in rounds: all occurrences of the lowest rank at once. That
// is exact unless such a merge enables one of a lower rank; the few that can (Tables::early_parts)
// are done one by one, the leftmost first.
#pragma once

constexpr u32 kFresh = 0x80000000u;  // of a symbol: made in this round

// A linked list of symbols over the places of a word's bytes.
//   bytes    a b c d          after b + c:   nexts  1 3 . 4      befores  . 0 . 1
struct LongWord {
    u32 size;
    u32* symbols;
    u32* ranks;  // of a symbol and the next; kNoRank where one is gone
    u32* nexts;  // size after the last
    u32* befores;
};

TM_DEVICE u32 rank_of(const tokenmill::vocab::PairTable& pairs, const LongWord& word, u32 at) {
    const u32 next = word.nexts[at];
    if (next >= word.size) {
        return kNoRank;
    }
    const u32 left = word.symbols[at] & ~kFresh;
    return end_probe(begin_probe(pairs, left, word.symbols[next] & ~kFresh));
}

#if TM_CHARACTERS

// The barrier between makes all symbols visible, which ranks are looked up for.
template <u32 kThreads>
TM_DEVICE void load_long(const Tables* tables, const u8* text, uint4 miss,
                         const tokenmill::vocab::PairTable& pairs, const LongWord& word) {
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            const bool is_inner = symbol_over(tables, text, miss, i) != i;
            const CharSymbol own = symbol_at(tables, text, miss, i);
            word.symbols[i] = is_inner ? kNoRank : own.symbol;
            word.nexts[i] = i + own.size;
            word.befores[i] = i == 0 ? ~0u : symbol_over(tables, text, miss, i - 1);
        }
    }
    TM_SYNC();
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            word.ranks[i] = word.symbols[i] == kNoRank ? kNoRank : rank_of(pairs, word, i);
        }
    }
    TM_SYNC();
}

#else

template <u32 kThreads>
TM_DEVICE void load_long(const Tables*, const u8* all, uint4 miss,
                         const tokenmill::vocab::PairTable& pairs, const LongWord& word) {
    const u8* text = all + miss.x;
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            const u32 merged = read_table(pairs.byte_pairs + (u32(text[i]) << 8 | text[i + 1]));
            word.symbols[i] = text[i];
            word.ranks[i] = i + 1 < word.size && merged < kNoRank ? merged : kNoRank;
            word.nexts[i] = i + 1;
            word.befores[i] = i - 1;
        }
    }
    TM_SYNC();
}

#endif

template <u32 kThreads>
TM_DEVICE void find_lowest(const LongWord& word, u32* lowest, u32* leftmost) {
    TM_THREADS(t, kThreads) {
        u32 best = kNoRank;
        for (u32 i = t; i < word.size; i += kThreads) {
            best = word.ranks[i] < best ? word.ranks[i] : best;
        }
        if (best != kNoRank) {
            atomicMin(lowest, best);
        }
        if (t == 0) {
            *leftmost = word.size;
        }
    }
    TM_SYNC();
}

template <u32 kThreads>
TM_DEVICE void find_leftmost(const LongWord& word, u32 rank, u32* leftmost) {
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            if (word.ranks[i] == rank) {
                atomicMin(leftmost, i);
                break;
            }
        }
    }
    TM_SYNC();
}

// Joins a symbol and the next. Returns the place after them.
TM_DEVICE u32 join(const LongWord& word, u32 at, u32 rank) {
    const u32 gone = word.nexts[at];
    const u32 after = word.nexts[gone];
    word.symbols[at] = rank | kFresh;
    word.symbols[gone] = kNoRank;
    word.ranks[gone] = kNoRank;
    word.nexts[at] = after;
    if (after < word.size) {
        word.befores[after] = at;
    }
    return after;
}

// Occurrences overlap if a symbol merges with itself, such as in "aaaa": every other one of such a
// run is merged.
//   ranks    r r r .   ->   (aa)(aa)
TM_DEVICE void join_run(const LongWord& word, u32 at, u32 rank) {
    bool overlaps = true;
    while (overlaps && at < word.size && word.ranks[at] == rank) {
        overlaps = word.ranks[word.nexts[at]] == rank;
        at = join(word, at, rank);
    }
}

// Merges all occurrences of a rank. Phase 1 marks the first one of each run; after the barrier the
// thread that owns a head merges its whole run. Runs do not touch: the symbol after a run has
// another rank, so no two threads write the same symbols.
template <u32 kThreads>
TM_DEVICE void join_all(const LongWord& word, u32 rank, u8* heads) {
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            const u32 before = word.befores[i];
            const bool is_first = before >= word.size || word.ranks[before] != rank;
            heads[i] = word.ranks[i] == rank && is_first ? 1 : 0;
        }
    }
    TM_SYNC();
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            if (heads[i] != 0) {
                join_run(word, i, rank);
            }
        }
    }
    TM_SYNC();
}

// Looks up the ranks around new symbols, then clears kFresh. The barrier between keeps a thread
// from clearing the mark that its left neighbour still reads.
template <u32 kThreads>
TM_DEVICE void renew_ranks(const tokenmill::vocab::PairTable& pairs, const LongWord& word,
                           u32* lowest) {
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            const u32 next = word.nexts[i];
            const bool fresh = (word.symbols[i] & kFresh) != 0;
            const bool before_fresh = next < word.size && (word.symbols[next] & kFresh) != 0;
            if (word.symbols[i] != kNoRank && (fresh || before_fresh)) {
                word.ranks[i] = rank_of(pairs, word, i);
            }
        }
        if (t == 0) {
            *lowest = kNoRank;
        }
    }
    TM_SYNC();
    TM_THREADS(t, kThreads) {
        for (u32 i = t; i < word.size; i += kThreads) {
            word.symbols[i] &= ~kFresh;
        }
    }
    TM_SYNC();
}

template <u32 kThreads>
TM_DEVICE void join_first(const LongWord& word, u32 rank, u32* leftmost) {
    find_leftmost<kThreads>(word, rank, leftmost);
    TM_THREADS(t, 1) {
        join(word, *leftmost, rank);
    }
    TM_SYNC();
}

TM_DEVICE bool is_early(const Tables* tables, u32 symbol) {
    return (tables->early_parts[symbol / 32] >> (symbol % 32) & 1) != 0;
}

template <u32 kThreads, u32 kSize>
struct LongBlock {
    u8 heads[kSize];
    u32 counts[kThreads + 1];
    u32 lowest;
    u32 leftmost;
};

template <u32 kThreads, u32 kSize>
TM_DEVICE void merge_rounds(const Tables* tables, const tokenmill::vocab::PairTable& pairs,
                            const LongWord& word, LongBlock<kThreads, kSize>& block) {
    for (u32 round = 1; round < word.size; ++round) {
        find_lowest<kThreads>(word, &block.lowest, &block.leftmost);
        const u32 rank = block.lowest;
        TM_SYNC();
        if (rank == kNoRank) {
            return;
        }
        if (is_early(tables, rank)) {
            join_first<kThreads>(word, rank, &block.leftmost);
        } else {
            join_all<kThreads>(word, rank, block.heads);
        }
        renew_ranks<kThreads>(pairs, word, &block.lowest);
    }
}

// Writes the ids of the symbols that are left; returns how many.
template <u32 kThreads>
TM_DEVICE u32 write_long(const LongWord& word, const u32* external, u32* ids, u32* counts) {
    const u32 each = (word.size + kThreads - 1) / kThreads;
    TM_THREADS(t, kThreads) {
        u32 count = 0;
        for (u32 i = each * t; i < each * (t + 1) && i < word.size; ++i) {
            count += word.symbols[i] != kNoRank ? 1 : 0;
        }
        counts[t] = count;
    }
    TM_SYNC();
    block_prefix<kThreads>(counts, kThreads);
    TM_THREADS(t, kThreads) {
        u32 at = counts[t];
        for (u32 i = each * t; i < each * (t + 1) && i < word.size; ++i) {
            if (word.symbols[i] != kNoRank) {
                ids[at++] = external[word.symbols[i]];
            }
        }
    }
    return counts[kThreads];
}

// Merges one word with all threads of a block: thread t owns places t, t + kThreads, ... Every step
// ends with a barrier, because the next one reads symbols of other threads. `space` holds four
// arrays of kSize.
template <u32 kThreads, u32 kSize>
TM_DEVICE void merge_word(const Tables* tables, const Batch* batch, u32 number, u32* space,
                          LongBlock<kThreads, kSize>& block) {
    const tokenmill::vocab::PairTable pairs = pair_table(tables);
    const uint4 miss = batch->misses[number];
    const LongWord word{symbol_places(miss), space, space + kSize, space + 2 * kSize,
                        space + 3 * kSize};
    TM_THREADS(t, 1) {
        block.lowest = kNoRank;
    }
    load_long<kThreads>(tables, batch->text, miss, pairs, word);
    merge_rounds(tables, pairs, word, block);
    u32* ids = batch->arena + arena_place(miss.x);
    const u32 count = write_long<kThreads>(word, tables->external, ids, block.counts);
    TM_THREADS(t, 1) {
        const bool is_token = exact_id(tables, batch->text, miss, ids) != 0;
        batch->miss_counts[number] = is_token ? 1 : count;
    }
    TM_SYNC();
}

// merge_512: words of 129 to 512 bytes of miss_lists[4] -> arena, miss_counts. A block is one warp
// and owns every TM_BLOCKS-th word; the symbols are in shared memory.
TM_KERNEL(32) merge_512(const Tables* tables, const Batch* batch) {
    TM_SHARED LongBlock<32, 512> block;
    TM_SHARED u32 space[4 * 512];
    const u32 count = bin_total(batch, 4);
    for (u32 i = TM_BLOCK; i < count; i += TM_BLOCKS) {
        merge_word(tables, batch, bin_list(batch, 4)[i], space, block);
    }
}

// merge_long: words of up to 8192 bytes of miss_lists[5] -> arena, miss_counts. A block owns every
// TM_BLOCKS-th word, and its own part of Batch::scratch, too large for shared memory.
TM_KERNEL(256) merge_long(const Tables* tables, const Batch* batch) {
    TM_SHARED LongBlock<256, kMergedWord> block;
    const u32 count = bin_total(batch, 5);
    u32* space = batch->scratch + u64(TM_BLOCK) * 4 * kMergedWord;
    for (u32 i = TM_BLOCK; i < count && TM_BLOCK < batch->scratch_blocks; i += TM_BLOCKS) {
        merge_word(tables, batch, bin_list(batch, 5)[i], space, block);
    }
}
