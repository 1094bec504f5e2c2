// finish_misses, emit_ids, document_ids: what became of every word -> the ids, one after another.
#pragma once

constexpr u32 kEmitThreads = 256;
constexpr u32 kEmitWords = 4 * kEmitThreads;  // of a round
constexpr u32 kStagedIds = 3072;
constexpr u32 kFromLongIds = 0x80000000u;  // of a source: long_ids, not the arena
constexpr u32 kCopyThreads = 4;            // that copy one list of ids together

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

struct EmitBlock {
    TM_ALIGN16 u32 codes[kEmitWords];
    u32 offsets[kEmitThreads + 1];
    u32 ids[kStagedIds];
    u32 sources[kEmitWords];  // of the lists of ids that are not in a code or a word's entry
    u32 begins[kEmitWords];   // where they go
    u16 counts[kEmitWords];
    u32 lists;
};

// A list gets a number, which takes the place of its code's payload.
TM_DEVICE u32 list_code(const Tables* tables, const Batch* batch, u32 code, EmitBlock& block) {
    u32 source = 0;
    u32 count = 0;
    if ((code & kKinds) == kLong) {
        const uint4 slot = read_table(tables->long_slots + (code & kPayload));
        source = slot.z | kFromLongIds;
        count = slot.w >> 8;
    } else if ((code & kPayload) != kPayload) {
        const uint4 miss = batch->misses[code & kPayload];
        source = miss.z;
        count = miss.w;
    }
    const u32 number = atomicAdd(&block.lists, 1u);
    block.sources[number] = source;
    block.counts[number] = u16(count);
    return kMiss | (code & kOpens) | number;
}

TM_DEVICE u32 code_count(u32 code, const EmitBlock& block) {
    const u32 kind = code & kKinds;
    return kind == kOne    ? 1
           : kind == kMany ? 2 + (code >> kManyShift & 7)
                           : block.counts[code & kPayload];
}

TM_DEVICE void load_codes(const Batch* batch, u32 first, u32 words, EmitBlock& block) {
    TM_THREADS(t, kEmitThreads) {
        for (u32 i = t; i < kEmitWords && i < words; i += kEmitThreads) {
            block.codes[i] = read_once(batch->codes + first + i);
        }
        if (t == 0) {
            block.lists = 0;
        }
    }
    TM_SYNC();
}

// How many ids the four words of each thread have.
TM_DEVICE void count_ids(const Tables* tables, const Batch* batch, u32 words, EmitBlock& block) {
    TM_THREADS(t, kEmitThreads) {
        u32 count = 0;
        TM_UNROLL
        for (u32 i = 4 * t; i < 4 * t + 4; ++i) {
            if (i < words) {
                if ((block.codes[i] >> 31) != 0) {
                    block.codes[i] = list_code(tables, batch, block.codes[i], block);
                }
                count += code_count(block.codes[i], block);
            }
        }
        block.offsets[t] = count;
    }
    TM_SYNC();
    block_prefix<kEmitThreads>(block.offsets, kEmitThreads);
}

// The ids of the words that lie in a window of the round, and where lists go. `out` is where the
// round's ids begin; it takes the place of a code whose word opens a document.
TM_DEVICE void stage_words(const Tables* tables, u32* codes, u32 words, u32 window, u32 out,
                           EmitBlock& block) {
    const uint4* entries = tables->words;
    TM_THREADS(t, kEmitThreads) {
        u32 at = block.offsets[t] - window;  // below kStagedIds: in the window
        const bool outside = window != 0 && int(block.offsets[t + 1] - window) <= 0;
        for (u32 i = 4 * t; i < 4 * t + 4 && i < words && !outside; ++i) {
            const u32 code = block.codes[i];
            const u32 kind = code & kKinds;
            const u32 count = code_count(code, block);
            if ((code & kOpens) != 0 && window == 0) {
                codes[i] = out + at;
            }
            if (kind == kOne && at < kStagedIds) {
                block.ids[at] = code & kExternalMask;
            } else if (kind == kMany) {
                const uint4 value = read_table(entries + 2 * u64(code & kManySlot) + 1);
                TM_UNROLL
                for (u32 k = 0; k < kInlineIds; ++k) {
                    if (k < count && at + k < kStagedIds) {
                        block.ids[at + k] = value_id(value, k);
                    }
                }
            } else if (kind == kMiss) {
                block.begins[code & kPayload] = at + window;
            }
            at += count;
        }
    }
    TM_SYNC();
}

// A few threads copy each list, so that one long list does not hold up a warp.
TM_DEVICE void stage_lists(const Tables* tables, const Batch* batch, u32 window, EmitBlock& block) {
    TM_THREADS(t, kEmitThreads) {
        for (u32 i = t / kCopyThreads; i < block.lists; i += kEmitThreads / kCopyThreads) {
            const u32 source = block.sources[i];
            const bool is_long = (source & kFromLongIds) != 0;
            const u32* ids =
                is_long ? tables->long_ids + (source & ~kFromLongIds) : batch->arena + source;
            const u32 begin = block.begins[i];
            const u32 end = begin + block.counts[i];
            const u32 skipped = window > begin ? window - begin : 0;
            const u32 stop = end < window + kStagedIds ? end : window + kStagedIds;
            for (u32 k = begin + skipped + t % kCopyThreads; k < stop; k += kCopyThreads) {
                block.ids[k - window] = ids[k - begin];
            }
        }
    }
    TM_SYNC();
}

TM_DEVICE void write_ids(const Batch* batch, u32 out, u32 count, const EmitBlock& block) {
    u32* ids = batch->ids;
    u16* ids16 = batch->ids16;
    const u64 capacity = batch->id_capacity;
    TM_THREADS(t, kEmitThreads) {
        for (u32 i = t; i < count && out + i < capacity; i += kEmitThreads) {
            if (ids16 != nullptr) {
                ids16[out + i] = u16(block.ids[i]);
            } else {
                write_once(ids + out + i, block.ids[i]);
            }
        }
    }
    TM_SYNC();
}

TM_KERNEL(256) emit_ids(const Tables* tables, const Batch* batch) {
    TM_SHARED EmitBlock block;
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    const u32 end = batch->word_base[TM_BLOCK + 1];
    u32 out = batch->id_base[TM_BLOCK];
    for (u32 first = batch->word_base[TM_BLOCK]; first < end; first += kEmitWords) {
        load_codes(batch, first, end - first, block);
        count_ids(tables, batch, end - first, block);
        const u32 total = block.offsets[kEmitThreads];
        u32 window = 0;
        do {
            const u32 left = total - window;
            stage_words(tables, batch->codes + first, end - first, window, out, block);
            stage_lists(tables, batch, window, block);
            write_ids(batch, out + window, left < kStagedIds ? left : kStagedIds, block);
            window += kStagedIds;
        } while (window < total);
        out += total;
    }
}

TM_DEVICE void write_document(const Batch* batch, u32 document, u32 rank) {
    const u32 begin = batch->doc_begin[document];
    u32 ids = batch->counters[kIdCount];
    if (document < batch->documents && begin < batch->size) {
        ids = batch->codes[batch->word_base[begin / TM_TILE] + rank];
    }
    batch->doc_ids[document] = ids;
    if (ids > batch->id_capacity && document != 0) {
        leave_document(batch, document - 1, kOverflow);
    }
}

// Where the ids of a document begin: emit_ids left it in the code of the document's first word. One
// warp a document finds that word.
TM_KERNEL(256) document_ids(const Tables*, const Batch* batch) {
    TM_SHARED u32 ranks[8];
    const u32 documents = u32(batch->documents);
    for (u32 base = 8 * TM_BLOCK; base <= documents; base += 8 * TM_BLOCKS) {
        TM_THREADS(t, 8) {
            ranks[t] = 0;
        }
        TM_SYNC();
        TM_THREADS(t, 256) {
            const u32 document = base + t / 32;
            u32 rank = 0;
            if (document < documents) {
                const u32 begin = batch->doc_begin[document];
                const u32 end = begin / 32;
                const u32 tile = begin / TM_TILE * TM_TILE_WORDS;
                for (u32 i = tile + t % 32; i <= end && begin < batch->size; i += 32) {
                    const u32 counted = i < end ? ~0u : (1u << begin % 32) - 1;
                    rank += count_bits(batch->start_bits[i] & counted);
                }
            }
            add_over_warp(&ranks[t / 32], rank, t);
        }
        TM_SYNC();
        TM_THREADS(t, 8) {
            if (base + t <= documents) {
                write_document(batch, base + t, ranks[t]);
            }
        }
        TM_SYNC();
    }
}
