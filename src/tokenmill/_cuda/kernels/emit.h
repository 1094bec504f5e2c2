// emit_ids: the codes of words -> their ids, one after another.
#pragma once

#include "emit_steps.h"
#include "id_target.h"

// Replaces the code of a document's first word with where the document's ids start.
TM_DEVICE void write_begins(u32* codes, const EmitRound& round, u32 t, u32 sum,
                            const EmitWords& own) {
    u32 all = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        all |= own.codes[k];
    }
    if ((all & kOpens) == 0) {
        return;
    }
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        if ((own.codes[k] & kOpens) != 0) {
            codes[round.begin + kEmitEach * t + k] = round.out + (sum & 0xFFFF) - round.shift;
        }
        sum += own.steps[k];
    }
}

// Stages the ids that are in codes, if they are in the window, and lists the other words as work.
TM_DEVICE void stage_words(u32 window, u32 sum, const EmitWords& own, EmitBlock& block) {
    u32 all = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        const u32 code = own.codes[k];
        const u32 at = sum & 0xFFFF;
        if (code < kMany && at - window < kStagedIds) {
            block.ids[at - window] = code & kExternalMask;
        }
        if (own.steps[k] >= kWork) {
            block.work[sum >> 16] = code;
            block.places[sum >> 16] = u16(at);
        }
        all |= code;
        sum += own.steps[k];
    }
    if (all >> 31 != 0) {
        block.lists = 1;
    }
}

// Stages the ids of words whose entry in `words` holds them: one thread a word.
TM_DEVICE void stage_entries(const uint4* entries, u32 window, u32 work, EmitBlock& block) {
    TM_THREADS(t, kEmitThreads) {
        TM_ROLLED
        for (u32 i = t; i < work; i += kEmitThreads) {
            const u32 code = block.work[i];
            if (code >> 31 != 0) {
                continue;
            }
            const uint4 value = read_table(entries + 2 * u64(code & kManySlot) + 1);
            const u32 count = 2 + (code >> kManyShift & 7);
            const u32 at = block.places[i] - window;
            TM_UNROLL
            for (u32 k = 0; k < kInlineIds; ++k) {
                if (k < count && at + k < kStagedIds) {
                    block.ids[at + k] = value_id(value, k);
                }
            }
        }
    }
}

// Stages lists of ids: a few threads copy each one, so that a long list does not delay a warp.
TM_DEVICE void stage_lists(const Tables* tables, const Batch* batch, u32 window, u32 work,
                           EmitBlock& block) {
    TM_THREADS(t, kEmitThreads) {
        TM_ROLLED
        for (u32 i = t / kCopyThreads; i < work; i += kEmitThreads / kCopyThreads) {
            const u32 code = block.work[i];
            if (code >> 31 == 0) {
                continue;
            }
            const IdList list = id_list(tables, batch, code);
            const u32 begin = block.places[i];
            const u32 end = begin + list.count;
            const u32 skipped = window > begin ? window - begin : 0;
            const u32 stop = end < window + kStagedIds ? end : window + kStagedIds;
            TM_ROLLED
            for (u32 k = begin + skipped + t % kCopyThreads; k < stop; k += kCopyThreads) {
                block.ids[k - window] = list.ids[k - begin];
            }
        }
    }
}

// Writes staged ids of a window. `places` counts those of the round and the `shift` before them.
TM_DEVICE void write_ids(const IdTarget& target, const EmitRound& round, u32 window, u32 places,
                         const EmitBlock& block) {
    const u32 room = target.capacity > round.out ? target.capacity - round.out : 0;
    const u32 stop = places - round.shift < room ? places : room + round.shift;
    const u32 limit = stop < window + kStagedIds ? stop : window + kStagedIds;
    TM_THREADS(t, kEmitThreads) {
        TM_ROLLED
        for (u32 i = window + 4 * t; i < limit; i += 4 * kEmitThreads) {
            const u32 at = round.out + i - round.shift;
            if (i >= round.shift && i + 4 <= limit) {
                write_four(target, at, &block.ids[i - window]);
                continue;
            }
            TM_ROLLED
            for (u32 k = 0; k < 4; ++k) {
                if (i + k >= round.shift && i + k < limit) {
                    write_id(target, at + k, block.ids[i + k - window]);
                }
            }
        }
    }
}

// Stages the work of a window. Barriers: the work list is complete; then all ids are staged.
TM_DEVICE void stage_window(const Tables* tables, const Batch* batch, u32 window, u32 work,
                            EmitBlock& block) {
    TM_SYNC();
    if (work == 0) {
        return;
    }
    stage_entries(tables->words, window, work, block);
    if (block.lists != 0) {
        stage_lists(tables, batch, window, work, block);
    }
    TM_SYNC();
}

// Writes the ids of a round; returns how many there are.
TM_DEVICE u32 emit_round(const Tables* tables, const Batch* batch, const IdTarget& target,
                         const EmitRound& round, EmitBlock& block) {
    EmitThreads words;
    PerThread<u32, kEmitThreads> sums;
    u32* codes = batch->codes;
    TM_THREADS(t, kEmitThreads) {
        load_codes(codes, round, t, words[t]);
        sums[t] = count_steps(tables, batch, words[t]);
        if (t == 0) {
            block.lists = 0;
        }
    }
    const u32 steps = sums_before(sums);
    const u32 places = round.shift + (steps & 0xFFFF);
    TM_THREADS(t, kEmitThreads) {
        write_begins(codes, round, t, sums[t] + round.shift, words[t]);
    }
    TM_ROLLED
    for (u32 window = 0; window < places; window += kStagedIds) {
        TM_THREADS(t, kEmitThreads) {
            stage_words(window, sums[t] + round.shift, words[t], block);
        }
        stage_window(tables, batch, window, steps / kWork, block);
        write_ids(target, round, window, places, block);
        if (window + kStagedIds < places) {
            TM_SYNC();
        }
    }
    return steps & 0xFFFF;
}

// emit_ids: codes, word tables, misses, arena -> ids or ids16; in codes, where documents start.
//
// A block owns a tile. In a round, a thread owns kEmitEach neighbouring words, so that one prefix
// sum over threads tells each of them where its ids go. Ids are staged in shared memory, kStagedIds
// at a time (a window), and written from there in order, four to a thread.
//   codes     [one id] [many: entry 7] [one id] [miss 3] ...
//   steps     0x00001  0x10003          0x00001  0x10005      bits 16 up: work, below: ids
//   before    0x00000  0x00001          0x10004  0x10005      place in work | place of ids
// Barriers: sums_before has one before the work list is read; stage_window has one before and one
// after the work; one more keeps the next window, or round, from overwriting what is being written.
// Blocks write disjoint ranges of ids, from id_base.
//
// Five blocks on a processor: 48 registers a thread; with fewer registers the stack is needed.
TM_KERNEL(256, 5) emit_ids(const Tables* tables, const Batch* batch) {
    TM_SHARED EmitBlock block;
    assume_threads<kEmitThreads>();
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    const IdTarget target = id_target(batch);
    const u32 first = batch->word_base[TM_BLOCK];
    const u32 end = batch->word_base[TM_BLOCK + 1];
    u32 out = batch->id_base[TM_BLOCK];
    TM_ROLLED
    for (u32 begin = first / 4 * 4; begin < end; begin += kEmitWords) {
        const EmitRound round{begin, first, end, out, id_shift(target, out)};
        out += emit_round(tables, batch, target, round, block);
        TM_SYNC();
    }
}
