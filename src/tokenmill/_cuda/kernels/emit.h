// finish_misses, emit_ids: what became of every word -> the ids, one after another.
#pragma once

constexpr u32 kEmitThreads = 256;
constexpr u32 kEmitEach = 8;                          // words of a thread in a round
constexpr u32 kEmitWords = kEmitEach * kEmitThreads;  // of a round
constexpr u32 kStagedIds = 3072;
constexpr u32 kCopyThreads = 4;  // that copy one list of ids together
static_assert(kEmitEach % 4 == 0 && kStagedIds % 4 == 0, "codes and ids go in fours");

// Every miss gets the ids of the one that stands for it, and its tile their number. One warp a
// tile.
TM_KERNEL(256) finish_misses(const Tables*, const Batch* batch) {
    TM_SHARED u32 sums[8];
    uint4* misses = batch->misses;
    const u32* counts = batch->miss_counts;
    TM_THREADS(t, 8) {
        sums[t] = 0;
    }
    TM_SYNC();
    TM_THREADS(t, 256) {
        const u32 tile = 8 * TM_BLOCK + t / 32;
        const bool inside = tile < batch->tiles;
        const u32 first = inside ? batch->tile_misses[2 * tile] : 0;
        const u32 end = inside ? first + batch->tile_misses[2 * tile + 1] : 0;
        u32 sum = 0;
        for (u32 i = first + t % 32; i < end; i += 32) {
            const u32 standing = misses[i].w;
            const u32 count = counts[standing];
            misses[i].z = misses[standing].x;
            sum += count;
            misses[i].w = count;
        }
        add_over_warp(&sums[t / 32], sum, t);
    }
    TM_SYNC();
    TM_THREADS(t, 8) {
        if (8 * TM_BLOCK + t < batch->tiles) {
            batch->tile_ids[8 * TM_BLOCK + t] += sums[t];
        }
    }
}

// A step of a word: how many ids it has, and kWork if they are not in its code. The sum of steps is
// where ids go and the place in the list of work; a tile has fewer than 16384 ids.
constexpr u32 kWork = 1u << 16;

struct EmitBlock {
    TM_ALIGN16 u32 ids[kStagedIds];
    u32 work[kEmitWords];    // codes of words whose ids are elsewhere
    u16 places[kEmitWords];  // where those ids go
    u32 lists;               // whether some of them are not in an entry of `words`
};

struct EmitWords {
    u32 codes[kEmitEach];
    u32 steps[kEmitEach];
};

using EmitThreads = PerThread<EmitWords, kEmitThreads>;

// A round of words: a block's next ones, whose ids go to `out` and so on. Places are counted from
// the multiple of four ids before `out`, which is `shift` below, so that four ids are written at
// once.
struct EmitRound {
    u32 begin;  // a multiple of four, at most three below `first`
    u32 first;  // words of the tile
    u32 end;
    u32 out;
    u32 shift;
};

// The ids of a word that are neither in its code nor in an entry of `words`.
struct IdList {
    const u32* ids;
    u32 count;
};

TM_DEVICE IdList id_list(const Tables* tables, const Batch* batch, u32 code) {
    if ((code & kKinds) == kLong) {
        const uint4 slot = read_table(tables->long_slots + (code & kPayload));
        return {tables->long_ids + slot.z, slot.w >> 8};
    }
    const uint4 miss = read_table(batch->misses + (code & kPayload));
    return {batch->arena + miss.z, miss.w};
}

// How many ids a list has, as its entry says it.
TM_DEVICE u32 list_facts(const uint4* long_slots, const uint4* misses, u32 code) {
    const uint4* entries = (code & kKinds) == kLong ? long_slots : misses;
    return read_table(reinterpret_cast<const u32*>(entries + (code & kPayload)) + 3);
}

TM_DEVICE u32 list_step(u32 code, u32 facts) {
    const u32 count = (code & kKinds) == kLong ? facts >> 8 : facts;
    return count != 0 ? kWork + count : 0;
}

// Steps of the lists: first all entries are asked for, then looked at.
TM_DEVICE void count_lists(const uint4* long_slots, const uint4* misses, EmitWords& own) {
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        if (own.codes[k] >> 31 != 0) {
            const bool is_lost = (own.codes[k] & kPayload) == kPayload;
            own.steps[k] = is_lost ? 0 : list_facts(long_slots, misses, own.codes[k]);
        }
    }
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        if (own.codes[k] >> 31 != 0) {
            own.steps[k] = list_step(own.codes[k], own.steps[k]);
        }
    }
}

// The codes of a thread; those that are not of this tile have no ids.
TM_DEVICE void load_codes(const u32* codes, const EmitRound& round, u32 t, EmitWords& own) {
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; k += 4) {
        const u32 at = round.begin + kEmitEach * t + k;
        uint4 four = make_uint4(kLost, kLost, kLost, kLost);
        if (at < round.end) {
            four = read_once(reinterpret_cast<const uint4*>(codes + at));
        }
        if (at < round.first || at + 4 > round.end) {
            const u32 words = round.end - round.first;
            four.x = at - round.first < words ? four.x : kLost;
            four.y = at + 1 - round.first < words ? four.y : kLost;
            four.z = at + 2 - round.first < words ? four.z : kLost;
            four.w = at + 3 - round.first < words ? four.w : kLost;
        }
        own.codes[k] = four.x;
        own.codes[k + 1] = four.y;
        own.codes[k + 2] = four.z;
        own.codes[k + 3] = four.w;
    }
}

// The steps of a thread's words, and their sum.
TM_DEVICE u32 count_steps(const Tables* tables, const Batch* batch, EmitWords& own) {
    u32 all = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        const u32 code = own.codes[k];
        own.steps[k] = code < kMany ? 1 : kWork + 2 + (code >> kManyShift & 7);
        all |= code;
    }
    if (all >> 31 != 0) {
        count_lists(tables->long_slots, batch->misses, own);
    }
    u32 sum = 0;
    TM_UNROLL
    for (u32 k = 0; k < kEmitEach; ++k) {
        sum += own.steps[k];
    }
    return sum;
}

// Where a document begins takes the place of the code of its first word.
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

// The ids that are in codes, as far as they lie in the window, and the work.
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

// One thread for each word with a few ids, which are in its entry.
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

// A few threads copy each list, so that one long list does not hold up a warp.
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

// Where ids go.
struct IdTarget {
    u32* ids;  // of two bytes each, if so
    bool is_half;
    u32 capacity;
};

TM_DEVICE IdTarget id_target(const Batch* batch) {
    const bool is_half = batch->ids16 != nullptr;
    u32* ids = is_half ? reinterpret_cast<u32*>(batch->ids16) : batch->ids;
    const u64 capacity = batch->id_capacity;
    return {ids, is_half, capacity < 0xFFFFFFFFu ? u32(capacity) : 0xFFFFFFFFu};
}

TM_DEVICE void write_id(const IdTarget& target, u32 at, u32 id) {
    if (target.is_half) {
        reinterpret_cast<u16*>(target.ids)[at] = u16(id);
    } else {
        target.ids[at] = id;
    }
}

TM_DEVICE void write_four(const IdTarget& target, u32 at, const u32* staged) {
    const uint4 four = *reinterpret_cast<const uint4*>(staged);
    if (target.is_half) {
        const u32 low = four.x | four.y << 16;
        const u32 high = four.z | four.w << 16;
        u16* ids = reinterpret_cast<u16*>(target.ids);
        write_once(reinterpret_cast<u64*>(ids + at), u64(high) << 32 | low);
    } else {
        write_once(reinterpret_cast<uint4*>(target.ids + at), four);
    }
}

// `places` is how many there are, the first `shift` of which are not the round's.
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

// How many ids behind a place where four can be written at once `out` is.
TM_DEVICE u32 id_shift(const IdTarget& target, u32 out) {
    const u64 place = reinterpret_cast<u64>(target.ids) / (target.is_half ? 2 : 4);
    return (u32(place) + out) % 4;
}

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

// Returns how many ids the words of the round have.
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

// Five blocks: 48 registers; with fewer the stack is needed.
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
