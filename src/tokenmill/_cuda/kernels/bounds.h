// Where words start: a bit for each byte; and what sends a document to the CPU.
#pragma once

#include "beyond.h"
#include "families.h"
#include "scan.h"
#include "sync.h"

// The result of a block, a word of 32 bits for each thread.
struct TileStarts {
    u32 starts[TM_TILE_WORDS];
    u32 cuts[TM_TILE_WORDS];
    u32 count;
};

// Writes the starts of 32 bytes, and counts them.
//   starts     1 0 0 0 1 0 0 0     where a word starts; the start of a document always is one
//   cuts       0 0 1 0 1 0 0 0     where a word may be cut: only counts where no word starts
//   start_bits 1 0 1 0 1 0 0 0     both, without bits after the end of the text (valid)
//   cut_bits   0 0 1 0 0 0 0 0
// `inner` are bytes of added tokens that no word starts at.
TM_DEVICE void write_starts(const Batch* batch, const Text& text, u32 tile, u32 t, u32 inner,
                            TileStarts& out) {
    const u32 word = tile * TM_TILE_WORDS + t;
    const u32 base = word * 32;
    const u32 left = base < text.size ? text.size - base : 0;
    const u32 valid = (left < 32 ? (1U << left) - 1 : ~0U) & ~inner;
    const u32 starts = (out.starts[t] | document_word(text, int(word))) & valid;
    const u32 cuts = out.cuts[t] & ~starts & valid;
    write_once(batch->start_bits + word, starts | cuts);
#if TM_PIECES
    write_once(batch->cut_bits + word, cuts);
#endif
    add_up(&out.count, t, count_bits(starts | cuts));
}

#if TM_FAMILY != 0

TM_DEVICE void store_masks(u32* masks, u32 i, const Masks& m) {
    u32* const at = masks + i;
    at[kMaskLetter * TM_MASK_WORDS] = m.letter;
    at[kMaskNumber * TM_MASK_WORDS] = m.number;
    at[kMaskWhite * TM_MASK_WORDS] = m.white;
    at[kMaskSpace * TM_MASK_WORDS] = m.space;
    at[kMaskInside * TM_MASK_WORDS] = m.inside;
#if TM_CONTRACTION != 0
    at[kMaskApostrophe * TM_MASK_WORDS] = m.apostrophe;
#endif
#if TM_FAMILY >= 2
    at[kMaskNewline * TM_MASK_WORDS] = m.newline;
#endif
#if TM_TAIL == 2
    at[kMaskSlash * TM_MASK_WORDS] = m.slash;
#endif
#if TM_CASED
    at[kMaskUpper * TM_MASK_WORDS] = m.upper;
    at[kMaskLower * TM_MASK_WORDS] = m.lower;
    at[kMaskHard * TM_MASK_WORDS] = m.hard;
#endif
#if TM_ISOLATE_HAN
    at[kMaskHan * TM_MASK_WORDS] = m.han;
#endif
}

// Fills in `edges`, which runs see where they leave the masks; m is the first or the last word.
TM_DEVICE void look_beyond(const Beyond& beyond, u32 begin, bool is_last, const Masks& m,
                           Edges& edges) {
    if (is_last) {
        const bool continues = (m.white & ~m.newline) >> 31 != 0;
        edges.white = continues ? beyond.blanks_end(begin + 32) : u32(kRunText);
        return;
    }
    const bool continues = !begins_document(beyond.text, begin);
    const u32 tail = m.newline | (TM_TAIL == 2 ? m.slash : 0);
    edges.absorbed = continues && (tail & 1) != 0 ? beyond.absorbed_at(begin) : 0;
    edges.digits = 0;
    if (TM_DIGITS > 1 && continues && (m.number & 1) != 0) {
        edges.digits = beyond.digits_before(begin, TM_DIGITS > 1 ? TM_DIGITS : 1);
    }
}

// The masks of a block's tile, and the answers for runs that leave it.
struct Kept {
    u32 masks[kMaskCount * TM_MASK_WORDS];
    Edges edges;
};

#endif

// A tile of a batch, seen for the first time or, after its added tokens were found, again.
template <bool kFirst>
struct TileJob {
    const Tables* tables;
    const Batch* batch;
    Text text;
    u32 tile;

    TM_DEVICE u32 first_word() const { return tile * TM_TILE_WORDS; }
    TM_DEVICE u32 inner(u32 t) const { return kFirst ? 0 : batch->inner_bits[first_word() + t]; }
    TM_DEVICE void check(int word, const Bytes32& bytes, const Findings& found) const {
        if (kFirst) {
            report(tables, batch, text, word, bytes, found);
        }
    }
};

// Writes the results of a tile. One barrier, between adding and writing the count of words.
template <bool kFirst>
TM_DEVICE void write_tile(const TileJob<kFirst>& job, TileStarts& out) {
    TM_THREADS(t, TM_TILE_WORDS) {
        write_starts(job.batch, job.text, job.tile, t, job.inner(t), out);
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t == 0) {
            job.batch->tile_words[job.tile] = out.count;
        }
    }
}

#if TM_FAMILY != 0

// Computes word i of all masks: one of the tile's own, or the one before or after it.
template <bool kFirst>
TM_DEVICE void add_word(const TileJob<kFirst>& job, u32 i, bool is_own, Kept& kept,
                        TileStarts& out) {
    const Text& text = job.text;
    const int word = int(job.first_word() + i) - 1;
    const bool is_text = word >= 0 && u32(word) * 32 < text.size;
    Masks m = {};
    Findings found = {};
    Bytes32 bytes = {};
    if (is_text) {
        bytes = read_bytes(text.bytes, word);
        m = word_masks<true>(job.tables, text, word, bytes, found);
    }
    store_masks(kept.masks, i, m);
    if (is_own) {
        out.cuts[i - 1] = found.cuts;
    }
    if (is_text && is_own) {
        job.check(word, bytes, found);
    } else if (is_text && (TM_FAMILY >= 2 || TM_DIGITS > 1)) {
        look_beyond({job.tables, job.batch, text}, u32(word) * 32, i != 0, m, kept.edges);
    }
}

// The words of thread t: one of the tile; threads 0 and 1 also the words before and after it.
template <bool kFirst>
TM_DEVICE void add_words(const TileJob<kFirst>& job, u32 t, Kept& kept, TileStarts& out) {
    const u32 neighbour = t * (TM_MASK_WORDS - 1);
    add_word(job, t + 1, true, kept, out);
    if (t < 2) {
        add_word(job, neighbour, false, kept, out);
    }
}

// Words of a tile that the algebra does not cover, in any order.
struct HardWords {
    u32 count;
    u32 of[TM_TILE_WORDS];
};

// A block owns a tile of TM_TILE bytes, thread t its bytes 32 t to 32 t + 31.
//   phase 1  each thread turns its bytes into masks in shared memory (`kept`), threads 0 and 1 also
//            the words before and after the tile
//   barrier  windows read the masks of neighbours
//   phase 2  each thread computes its starts; the few whose window does not decide (`is_hard`) are
//            listed in `hard` (cased words only)
//   barrier  the list is complete
//   phase 3  the first hard.count threads scan one listed word each with the DFA: threads that scan
//            are neighbours, so they share warps
//   barrier  `out` is complete
//   phase 4  each thread writes its word and adds to the count; thread 0 writes the count after one
//            more barrier
// Atomics: the order of `hard` is free, because each entry writes only its own word of `out`.
// Documents are flagged with atomicOr (flags.h). Blocks write disjoint words.
template <bool kFirst>
TM_DEVICE void masks_of_tile(const TileJob<kFirst>& job, Kept& kept, HardWords& hard,
                             TileStarts& out) {
    const Text& text = job.text;
    const u32 first_word = job.first_word();
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t == 0) {
            out.count = 0;
            hard.count = 0;
        }
        add_words(job, t, kept, out);
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        const Tile tile = {kept.masks, &kept.edges, text, int(first_word) - 1};
        Starts found = {};
        if ((first_word + t) * 32 < text.size) {
            found = word_starts(tile, t + 1);
        }
        out.starts[t] = u32(found.bits >> 16);
        if (TM_CASED && found.is_hard) {
            hard.of[atomicAdd(&hard.count, 1)] = t;
        }
    }
    TM_SYNC();
#if TM_CASED
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t < hard.count) {
            const Tile tile = {kept.masks, &kept.edges, text, int(first_word) - 1};
            const Scanner scanner = {job.batch, text, stage_of(job.tables, 0)};
            const u32 sync = sync_before(tile, hard.of[t] + 1);
            const u32 from = sync == ~0U ? scanner.sync_before(first_word * 32) : sync;
            u32 next = 0;
            out.starts[hard.of[t]] = scanner.starts((first_word + hard.of[t]) * 32, from, next);
        }
    }
    TM_SYNC();
#endif
    write_tile(job, out);
}

// bounds_masks: text -> start_bits, cut_bits, tile_words, doc_flags, added_tiles; for splits with a
// rule.
TM_KERNEL(TM_TILE_WORDS) bounds_masks(const Tables* tables, const Batch* batch) {
    TM_SHARED Kept kept;
    TM_SHARED TileStarts out;
    TM_SHARED HardWords hard;
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    masks_of_tile<true>({tables, batch, text_of(batch), TM_BLOCK}, kept, hard, out);
}

#endif

// The words that stage kStage of a chain finds. For it, every word of the stage before is a text.
//   stage_bits   word -1 | words of all tiles | one more      twice: a stage reads one half, in
//                                                             place of doc_bits, and writes the
//                                                             other
template <u32 kStage>
TM_DEVICE u32* stage_bits(const Batch* batch) {
    return batch->stage_bits + (kStage & 1) * (batch->tiles * TM_TILE_WORDS + 2) + 1;
}

template <u32 kStage>
TM_DEVICE Text text_of_stage(const Batch* batch) {
    const Text text = text_of(batch);
    return kStage == 0 ? text : Text{text.bytes, stage_bits<kStage + 1>(batch), text.size};
}

// A block owns a tile, a thread 32 bytes of it. Each thread goes back to a place where a word
// starts in any text, and scans from there to the end of its bytes. The barrier makes all scans
// visible: then each thread checks that its scan arrives at the first word of the next thread;
// kArrival counts those that do not, which would be a bug here. Threads write disjoint words.
template <u32 kStage, bool kFirst>
TM_DEVICE void scan_tile(const TileJob<kFirst>& job, u32* arrivals, TileStarts& out) {
    const Text& text = job.text;
    const int first_word = int(job.first_word());
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t == 0) {
            out.count = 0;
        }
        const int word = first_word + int(t);
        Findings found = {};
        out.starts[t] = 0;
        arrivals[t] = 0;
        if (u32(word) * 32 < text.size) {
            const Bytes32 bytes = read_bytes(text.bytes, word);
            word_masks<false>(job.tables, text, word, bytes, found);
            job.check(word, bytes, found);
            const Scanner scanner = {job.batch, text, stage_of(job.tables, kStage)};
            const u32 base = u32(word) * 32;
            out.starts[t] = scanner.starts(base, scanner.sync_before(base), arrivals[t]);
        }
        out.cuts[t] = found.cuts;
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        const u32 base = u32(first_word + int(t)) * 32;
        const u32 end = base + 32 < text.size ? base + 32 : text.size;
        const u32 arrival = t == 0 ? 0 : arrivals[t - 1];
        if (arrival != 0 && arrivals[t] != 0) {
            const u32 mine = out.starts[t] == 0 ? end : base + lowest_bit(out.starts[t]);
            if (mine != (arrival < end ? arrival : end)) {
                atomicAdd(job.batch->counters + kArrival, 1);
            }
        }
        if (kStage + 1 < TM_STAGES) {
            const u32 starts = out.starts[t] | document_word(text, first_word + int(t));
            stage_bits<kStage>(job.batch)[first_word + int(t)] = starts;
        }
    }
    if (kStage + 1 == TM_STAGES) {
        write_tile(job, out);
    }
}

// bounds_scan: as bounds_masks, for splits that are one DFA, or the first one of a chain.
TM_KERNEL(TM_TILE_WORDS) bounds_scan(const Tables* tables, const Batch* batch) {
    TM_SHARED TileStarts out;
    TM_SHARED u32 arrivals[TM_TILE_WORDS];
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    scan_tile<0, true>({tables, batch, text_of(batch), TM_BLOCK}, arrivals, out);
}

// bounds_stage_1 and up: stage_bits -> stage_bits; the last one writes what bounds_scan writes.
#define TM_STAGE_KERNEL(number)                                                                \
    TM_KERNEL(TM_TILE_WORDS) bounds_stage_##number(const Tables* tables, const Batch* batch) { \
        TM_SHARED TileStarts out;                                                              \
        TM_SHARED u32 arrivals[TM_TILE_WORDS];                                                 \
        if (TM_BLOCK >= batch->tiles) {                                                        \
            return;                                                                            \
        }                                                                                      \
        scan_tile<number, false>({tables, batch, text_of_stage<number>(batch), TM_BLOCK},      \
                                 arrivals, out);                                               \
    }

#if TM_STAGES > 1
TM_STAGE_KERNEL(1)
#endif
#if TM_STAGES > 2
TM_STAGE_KERNEL(2)
#endif
#if TM_STAGES > 3
TM_STAGE_KERNEL(3)
#endif
#if TM_STAGES > 4
TM_STAGE_KERNEL(4)
#endif
#if TM_STAGES > 5
TM_STAGE_KERNEL(5)
#endif
#if TM_STAGES > 6
TM_STAGE_KERNEL(6)
#endif
#if TM_STAGES > 7
TM_STAGE_KERNEL(7)
#endif
