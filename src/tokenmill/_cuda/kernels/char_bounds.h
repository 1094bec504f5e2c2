// bounds_pairs: where words start in a text that has no split: between two characters that no token
// holds next to each other. No merge crosses such a place, so the parts have the ids of the whole.
#pragma once

#if TM_CHARACTERS

#include "bounds.h"

// A bit for every two characters, by their first bytes: set where a token may hold both.
//   word   (right / 32) * 256 + left      bit   right % 32
// Threads that look at different letters on the left use different banks of shared memory.
constexpr u32 kPairWords = 8 * 256;

struct PairBits {
    TM_ALIGN16 u32 of[kPairWords];
};

// The first byte of the character before a word of 32 bytes. The bytes before the text, or of the
// document before, may be anything: a document always starts a word.
TM_DEVICE u32 lead_before(const u8* text, int word) {
    const u32 tail = ((const u32*)text)[word * 8 - 1];
    u32 lead = tail >> 24;
    for (u32 back = 1; back < 4 && is_continuation(lead); ++back) {
        lead = tail >> (24 - 8 * back) & 255;
    }
    return lead;
}

// Adds the starts among four bytes, the first of them at bit `at`; `left` is the first byte of the
// character before.
TM_DEVICE u32 starts_in_four(const u32* pairs, u32 four, u32 at, u32& left) {
    u32 starts = 0;
    TM_UNROLL
    for (u32 k = 0; k < 4; ++k) {
        const u32 byte = four >> 8 * k & 255;
        const bool is_inner = is_continuation(byte);
        const u32 joined = pairs[(byte >> 5) * 256 + left] >> (byte & 31);
        starts |= (is_inner ? 0 : ~joined & 1) << (at + k);
        left = is_inner ? left : byte;
    }
    return starts;
}

TM_DEVICE u32 pair_starts(const u32* pairs, const u8* text, int word, const Bytes32& bytes) {
    u32 left = lead_before(text, word);
    u32 starts = starts_in_four(pairs, bytes.low.x, 0, left);
    starts |= starts_in_four(pairs, bytes.low.y, 4, left);
    starts |= starts_in_four(pairs, bytes.low.z, 8, left);
    starts |= starts_in_four(pairs, bytes.low.w, 12, left);
    starts |= starts_in_four(pairs, bytes.high.x, 16, left);
    starts |= starts_in_four(pairs, bytes.high.y, 20, left);
    starts |= starts_in_four(pairs, bytes.high.z, 24, left);
    return starts | starts_in_four(pairs, bytes.high.w, 28, left);
}

// A block owns a tile, a thread 32 bytes of it. The first barrier makes the table of pairs visible,
// the second one the starts; write_tile has one more. Threads write disjoint words.
template <bool kFirst>
TM_DEVICE void pairs_of_tile(const TileJob<kFirst>& job, PairBits& pairs, TileStarts& out) {
    const Text& text = job.text;
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t == 0) {
            out.count = 0;
        }
        const uint4* const table = (const uint4*)global_memory(job.tables->joined_pairs);
        for (u32 i = t; i < kPairWords / 4; i += TM_TILE_WORDS) {
            ((uint4*)pairs.of)[i] = read_table(table + i);
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        const int word = int(job.first_word() + t);
        Findings found = {};
        out.starts[t] = 0;
        if (u32(word) * 32 < text.size) {
            const Bytes32 bytes = read_bytes(text.bytes, word);
            word_masks<false>(job.tables, text, word, bytes, found);
            job.check(word, bytes, found);
            out.starts[t] = pair_starts(pairs.of, text.bytes, word, bytes);
        }
        out.cuts[t] = found.cuts;
    }
    TM_SYNC();
    write_tile(job, out);
}

// bounds_pairs: text -> start_bits, tile_words, doc_flags, added_tiles.
TM_KERNEL(TM_TILE_WORDS) bounds_pairs(const Tables* tables, const Batch* batch) {
    TM_SHARED TileStarts out;
    TM_SHARED PairBits pairs;
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    pairs_of_tile<true>({tables, batch, text_of(batch), TM_BLOCK}, pairs, out);
}

#endif
