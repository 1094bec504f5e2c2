// merge_16, merge_32, merge_64, merge_128: the words of a list -> their ids in the arena, at the
// place of the word's text. One thread merges a word: the lowest rank first, the leftmost of equal
// ones, like core/encode/merge.h. What two symbols merge to is also the rank of the merge.
//
// core/encode/merge.h shifts an array after each merge; here symbols keep their places, and a bit
// for each says whether it is still there (Live), because shared memory is slow to shift.
#pragma once

#include "vocab/pairs.h"

constexpr u32 kNoRank = 0xFFFFFu;  // of symbols that do not merge

TM_DEVICE tokenmill::vocab::PairTable pair_table(const Tables* tables) {
    const TmU64* slots = reinterpret_cast<const TmU64*>(tables->pair_slots);
    return {slots, tables->byte_pairs, TM_PAIR_SHIFT, TM_PAIR_MASK};
}

// A look-up that has been started: half a line of slots is loading, so that two look-ups overlap.
struct PairProbe {
    const uint4* slots;
    u64 key;
    u32 line;
    uint4 first;
    uint4 second;
};

TM_DEVICE PairProbe begin_probe(const tokenmill::vocab::PairTable& pairs, u32 left, u32 right) {
    const u64 key = pairs.key_of(left, right);
    const u32 line = u32(pairs.line_of(key));
    const uint4* slots = reinterpret_cast<const uint4*>(pairs.slots);
    return {slots, key, line, read_table(slots + 4 * line), read_table(slots + 4 * line + 1)};
}

// A slot is key << 20 | merged, 0 is free. True if the search ends here.
TM_DEVICE bool ends_at(u32 low, u32 high, u64 key, u32& merged) {
    if (high == u32(key >> 12) && low >> 20 == (u32(key) & 0xFFF)) {
        merged = low & kExternalMask;
        return true;
    }
    return (low | high) == 0;
}

TM_DEVICE bool ends_in(uint4 two, u64 key, u32& merged) {
    return ends_at(two.x, two.y, key, merged) || ends_at(two.z, two.w, key, merged);
}

TM_DEVICE u32 end_probe(const PairProbe& probe) {
    u32 merged = kNoRank;
    if (ends_in(probe.first, probe.key, merged) || ends_in(probe.second, probe.key, merged)) {
        return merged;
    }
    u32 line = probe.line;
    for (u32 half = 1; half <= 2 * TM_PAIR_MASK + 2; ++half) {
        line = (half & 1) != 0 ? line : (line + 1) & TM_PAIR_MASK;
        const uint4* slots = probe.slots + 4 * line + 2 * (half & 1);
        const uint4 first = read_table(slots);
        const uint4 second = read_table(slots + 1);
        if (ends_in(first, probe.key, merged) || ends_in(second, probe.key, merged)) {
            break;
        }
    }
    return merged;
}

// The symbols of a word that are left, as bits.
//   bytes  t h e s e        after th, es:   bits  1 0 1 0 1      next(0) = 2, before(2) = 0
struct Live32 {
    u32 bits;
    TM_DEVICE static Live32 all(u32 size) { return {size == 32 ? ~0u : (1u << size) - 1}; }
    TM_DEVICE u32 next(u32 i) const {
        const u32 above = bits & (~0u << i << 1);
        return above != 0 ? lowest_bit(above) : 128;
    }
    TM_DEVICE u32 before(u32 i) const {
        const u32 below = bits & ((1u << i) - 1);
        return below != 0 ? highest_bit(below) : 128;
    }
    TM_DEVICE void remove(u32 i) { bits &= ~(1u << i); }
};

struct Live64 {
    u64 bits;
    TM_DEVICE static Live64 all(u32 size) { return {size == 64 ? ~u64(0) : (u64(1) << size) - 1}; }
    TM_DEVICE u32 next(u32 i) const {
        const u64 above = bits & (~u64(0) << i << 1);
        return above != 0 ? lowest_bit64(above) : 128;
    }
    TM_DEVICE u32 before(u32 i) const {
        const u64 below = bits & ((u64(1) << i) - 1);
        return below != 0 ? highest_bit64(below) : 128;
    }
    TM_DEVICE void remove(u32 i) { bits &= ~(u64(1) << i); }
};

struct Live128 {
    Live64 low;
    Live64 high;
    TM_DEVICE static Live128 all(u32 size) {
        return {Live64::all(size < 64 ? size : 64), Live64::all(size < 64 ? 0 : size - 64)};
    }
    TM_DEVICE u32 next(u32 i) const {
        const u32 here = i < 64 ? low.next(i) : 128;
        const u64 above = i < 64 ? high.bits : high.bits & (~u64(0) << (i - 64) << 1);
        return here != 128 ? here : above != 0 ? 64 + lowest_bit64(above) : 128;
    }
    TM_DEVICE u32 before(u32 i) const {
        const u64 upper = i > 64 ? high.bits & ((u64(1) << (i - 64)) - 1) : 0;
        const u64 lower = i < 64 ? low.bits & ((u64(1) << i) - 1) : low.bits;
        return upper != 0 ? 64 + highest_bit64(upper) : lower != 0 ? highest_bit64(lower) : 128;
    }
    TM_DEVICE void remove(u32 i) { i < 64 ? low.remove(i) : high.remove(i - 64); }
};

// The symbols of one thread's word. Those of a block are interleaved, so that threads use different
// banks. The smallest word of `ranks` is the next merge, with its place; ~0 is a symbol that is
// gone.
//   bits  31 .. 12              11 .. 5   4 .. 0
//         rank with the next    place     upper bits of the symbol (lower 16: `lows`)
template <u32 kThreads>
struct Symbols {
    u32* ranks;
    u16* lows;

    TM_DEVICE u32 at(u32 i) const { return (ranks[kThreads * i] & 15) << 16 | lows[kThreads * i]; }
    TM_DEVICE void set(u32 i, u32 symbol, u32 rank) const {
        ranks[kThreads * i] = rank << 12 | i << 5 | symbol >> 16;
        lows[kThreads * i] = u16(symbol);
    }
    TM_DEVICE void set_rank(u32 i, u32 rank) const {
        ranks[kThreads * i] = rank << 12 | (ranks[kThreads * i] & 0xFFF);
    }
    TM_DEVICE void drop(u32 i) const { ranks[kThreads * i] = ~0u; }
    TM_DEVICE u32 lowest(u32 size) const {
        u32 best = ~0u;
        for (u32 i = 0; i < size; ++i) {
            const u32 rank = ranks[kThreads * i];
            best = rank < best ? rank : best;
        }
        return best;
    }
};

#include "char_symbols.h"

template <u32 kThreads>
TM_DEVICE void load_bytes(const u8* text, u32 position, u32 size, const u32* byte_pairs,
                          const Symbols<kThreads>& symbols) {
    u32 four = text_word(text, position);
    for (u32 i = 0; i < size; ++i) {
        const u32 left = four & 255;
        four = (i & 3) == 3 ? text_word(text, position + i + 1) : four >> 8;
        const u32 merged = read_table(byte_pairs + (left << 8 | (four & 255)));
        symbols.set(i, left, i + 1 < size && merged < kNoRank ? merged : kNoRank);
    }
}

template <u32 kThreads, typename Live>
TM_DEVICE void load_symbols(const Tables* tables, const u8* text, uint4 miss,
                            const tokenmill::vocab::PairTable& pairs,
                            const Symbols<kThreads>& symbols, Live& live) {
#if TM_CHARACTERS
    load_characters(tables, text, miss, pairs, symbols, live);
#else
    (void)tables;
    (void)live;
    load_bytes(text, miss.x, miss_size(miss), pairs.byte_pairs, symbols);
#endif
}

// Merges until nothing merges; `live` has the symbols that are left.
template <u32 kThreads, typename Live>
TM_DEVICE void merge_symbols(const tokenmill::vocab::PairTable& pairs,
                             const Symbols<kThreads>& symbols, u32 size, Live& live) {
    for (u32 round = 1; round < size; ++round) {
        const u32 best = symbols.lowest(size);
        const u32 rank = best >> 12;
        if (rank == kNoRank) {
            return;
        }
        const u32 at = best >> 5 & 127;
        const u32 gone = live.next(at);
        live.remove(gone);
        symbols.drop(gone);
        const u32 before = live.before(at);
        const u32 after = live.next(at);
        const PairProbe left = begin_probe(pairs, before < 128 ? symbols.at(before) : rank, rank);
        const PairProbe right = begin_probe(pairs, rank, after < 128 ? symbols.at(after) : rank);
        symbols.set(at, rank, after < 128 ? end_probe(right) : kNoRank);
        if (before < 128) {
            symbols.set_rank(before, end_probe(left));
        }
    }
}

// merge_16 to merge_128: miss_lists[bin], misses, text -> arena, miss_counts.
//
// A thread owns every (blocks * kThreads)-th word of the list, and its column of `ranks` and
// `lows`. Threads share nothing, so there is no barrier and no atomic. Ids go to the arena at the
// place of the word's text: words do not overlap, and have at most one id a byte.
template <u32 kSize, u32 kThreads, typename Live>
TM_DEVICE void merge_list(const Tables* tables, const Batch* batch, u32 bin) {
    TM_SHARED u32 ranks[kSize * kThreads];
    TM_SHARED u16 lows[kSize * kThreads];
    const u32 count = bin_total(batch, bin);
    const u32* list = bin_list(batch, bin);
    const tokenmill::vocab::PairTable pairs = pair_table(tables);
    const u32* external = tables->external;
    TM_THREADS(t, kThreads) {
        for (u32 i = TM_BLOCK * kThreads + t; i < count; i += TM_BLOCKS * kThreads) {
            const u32 number = list[i];
            const uint4 miss = batch->misses[number];
            const u32 size = symbol_places(miss);
            u32* ids = batch->arena + arena_place(miss.x);
            u32 n = exact_id(tables, batch->text, miss, ids);
            if (n == 0) {
                const Symbols<kThreads> symbols{ranks + t, lows + t};
                Live live = Live::all(size);
                load_symbols(tables, batch->text, miss, pairs, symbols, live);
                merge_symbols(pairs, symbols, size, live);
                for (u32 at = 0; at < 128; at = live.next(at)) {
                    ids[n++] = read_table(external + symbols.at(at));
                }
            }
            batch->miss_counts[number] = n;
        }
    }
}

// Words of up to 16 bytes.
TM_KERNEL(128) merge_16(const Tables* tables, const Batch* batch) {
    merge_list<16, 128, Live32>(tables, batch, 0);
}

// Words of 17 to 32 bytes.
TM_KERNEL(128) merge_32(const Tables* tables, const Batch* batch) {
    merge_list<32, 128, Live32>(tables, batch, 1);
}

// Words of 33 to 64 bytes.
TM_KERNEL(64) merge_64(const Tables* tables, const Batch* batch) {
    merge_list<64, 64, Live64>(tables, batch, 2);
}

// Words of 65 to 128 bytes.
TM_KERNEL(32) merge_128(const Tables* tables, const Batch* batch) {
    merge_list<128, 32, Live128>(tables, batch, 3);
}
