// json_marks, json_line_bases, json_line_ends, json_malformed, json_lone: the raw bytes of a chunk
// -> the bits of its strings, where its lines end, and what is wrong with their characters.
#pragma once

#include "collect.h"
#include "json_bytes.h"
#include "tile_sums.h"

// Recorded launches are for the largest chunk of their class: blocks after its tiles have no work.
TM_DEVICE bool is_beyond(const Jsonl* job) {
    return TM_BLOCK >= job->tiles;
}

// json_marks: raw -> stop_bits, escape_bits, line_bits, tile_lines, tile_flags.
//
// A block owns a tile and a thread 32 bytes of it. Sums are in shared memory: the first barrier
// clears them, the second completes them. Block 0 clears the counters, which later kernels use.
TM_KERNEL(TM_JSON_WORDS) json_marks(const Tables*, const Jsonl* job) {
    if (is_beyond(job)) {
        return;
    }
    TM_SHARED u32 lines;
    TM_SHARED u32 flags;
    const u32 size = u32(job->size);
    const u8* const raw = global_memory(job->raw);
    TM_THREADS(t, 1) {
        lines = 0;
        flags = 0;
        for (u32 i = 0; TM_BLOCK == 0 && i < kJsonCounterCount; ++i) {
            job->counters[i] = 0;
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 base = TM_BLOCK * TM_JSON_TILE + 32 * t;
        const RawMasks m = base < size ? raw_masks(raw, size, base) : RawMasks{};
        job->stop_bits[base >> 5] = m.stops;
        job->escape_bits[base >> 5] = m.escapes;
        job->line_bits[base >> 5] = m.newlines;
        add_up(&lines, t, count_bits(m.newlines));
        const u32 found = (m.malformed != 0 ? kTileMalformed : 0) | (m.has_lone ? kTileLone : 0) |
                          (m.is_unsure ? kTileUnsure : 0);
        if (found != 0) {
            atomicOr(&flags, found);
        }
    }
    TM_SYNC();
    TM_THREADS(t, 1) {
        job->tile_lines[TM_BLOCK] = lines;
        job->tile_flags[TM_BLOCK] = flags;
    }
}

// json_line_bases: tile_lines -> line_base, and the count of all lines.
TM_KERNEL(1024) json_line_bases(const Tables*, const Jsonl* job) {
    scan_tiles(job->tile_lines, job->line_base, u32(job->tiles), &job->counters[kJsonLines]);
}

using JsonSums = PerThread<u32, TM_JSON_WORDS>;

// Each thread gets the number of the line that holds the first byte of its word. It has one
// barrier.
TM_DEVICE void number_lines(const Jsonl* job, JsonSums& lines) {
    TM_THREADS(t, TM_JSON_WORDS) {
        lines[t] = count_bits(job->line_bits[TM_BLOCK * TM_JSON_WORDS + t]);
    }
    sums_before<TM_JSON_WORDS>(lines);
    TM_THREADS(t, TM_JSON_WORDS) {
        lines[t] += job->line_base[TM_BLOCK];
    }
}

// json_line_ends: line_bits, line_base -> line_end, and no faults in any line yet.
//
// A block owns a tile; each newline is one line's end, so every entry is written once.
TM_KERNEL(TM_JSON_WORDS) json_line_ends(const Tables*, const Jsonl* job) {
    if (is_beyond(job)) {
        return;
    }
    JsonSums lines;
    number_lines(job, lines);
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 word = TM_BLOCK * TM_JSON_WORDS + t;
        u32 line = lines[t];
        for (u32 rest = job->line_bits[word]; rest != 0; rest &= rest - 1, ++line) {
            if (line < job->line_capacity) {
                job->line_end[line] = 32 * word + lowest_bit(rest);
                job->line_malformed[line] = kNowhere;
                job->line_lone[line] = kNowhere;
            }
        }
        if (t == 0 && (job->tile_flags[TM_BLOCK] & kTileUnsure) != 0) {
            atomicAdd(&job->counters[kJsonUnsure], 1U);
        }
    }
}

// How many lines there are; more than fit are left to the CPU, with all others.
TM_DEVICE u32 line_count(const Jsonl* job) {
    const u32 lines = job->counters[kJsonLines];
    return lines <= job->line_capacity ? lines : 0;
}

TM_DEVICE u32 line_begin(const Jsonl* job, u32 line) {
    return line == 0 ? 0 : job->line_end[line - 1] + 1;
}

// The line of a byte of this block's tile.
TM_DEVICE u32 line_of(const Jsonl* job, u32 place) {
    u32 low = job->line_base[TM_BLOCK];
    u32 high = job->line_base[TM_BLOCK + 1];
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (job->line_end[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// json_malformed: raw -> line_malformed, the first byte of each line that is not UTF-8.
//
// Only the blocks of tiles that have such bytes do anything. atomicMin: the order does not matter.
TM_KERNEL(TM_JSON_WORDS) json_malformed(const Tables*, const Jsonl* job) {
    if (is_beyond(job) || (job->tile_flags[TM_BLOCK] & kTileMalformed) == 0 ||
        line_count(job) == 0) {
        return;
    }
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 base = TM_BLOCK * TM_JSON_TILE + 32 * t;
        u32 rest = base < job->size ? raw_masks(job->raw, u32(job->size), base).malformed : 0;
        for (; rest != 0; rest &= rest - 1) {
            const u32 place = base + lowest_bit(rest);
            atomicMin(&job->line_malformed[line_of(job, place)], place);
        }
    }
}

// json_lone: escape_bits, fields -> line_lone, the first lone half of a pair in each line's field.
TM_KERNEL(TM_JSON_WORDS) json_lone(const Tables*, const Jsonl* job) {
    if (is_beyond(job) || (job->tile_flags[TM_BLOCK] & kTileLone) == 0 || line_count(job) == 0) {
        return;
    }
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 base = TM_BLOCK * TM_JSON_TILE + 32 * t;
        u32 rest = base < job->size ? job->escape_bits[base >> 5] : 0;
        for (; rest != 0; rest &= rest - 1) {
            const u32 place = base + lowest_bit(rest);
            const u32 line = line_of(job, place);
            const bool in_field = job->field_begin[line] <= place && place < job->field_end[line];
            if (in_field && escaped_at(job->raw, place).is_lone) {
                atomicMin(&job->line_lone[line], place);
            }
        }
    }
}
