// scan_words, scan_ids: a count for each tile -> the sum of all tiles before it, and of all.
//   counts  3 1 4   ->   out  0 3 4 8
#pragma once

constexpr u32 kScanThreads = 1024;
constexpr u32 kScanEach = 16;  // tiles of one thread in a round

TM_DEVICE uint4 tiles_at(const u32* counts, u32 at, u32 tiles) {
    if (at >= tiles) {
        return make_uint4(0, 0, 0, 0);
    }
    const uint4 four = *reinterpret_cast<const uint4*>(counts + at);
    return make_uint4(four.x, at + 1 < tiles ? four.y : 0, at + 2 < tiles ? four.z : 0,
                      at + 3 < tiles ? four.w : 0);
}

TM_DEVICE u32 sum_of(uint4 four) {
    return four.x + four.y + four.z + four.w;
}

// Writes the sums before each of four tiles; `before` is the sum before the first of them. Returns
// the sum after the last.
TM_DEVICE u32 write_sums(u32* out, u32 at, uint4 four, u32 before) {
    const u32 y = before + four.x;
    const u32 z = y + four.y;
    const u32 w = z + four.z;
    *reinterpret_cast<uint4*>(out + at) = make_uint4(before, y, z, w);
    return w + four.w;
}

// out[tiles] is the total; the arrays have room up to the next multiple of four.
//
// One block does it all, because sums depend on each other: 1 GiB is 131072 tiles, eight rounds of
// 1024 threads with kScanEach tiles each. Barriers: sums[] is written; block_prefix has its own;
// sums[] and carry are read before thread 0 moves carry on, and carry is moved before the next
// round.
TM_DEVICE void scan_tiles(const u32* counts, u32* out, u32 tiles, u32* total) {
    TM_SHARED u32 sums[kScanThreads + 1];
    TM_SHARED u32 carry;
    TM_THREADS(t, 1) {
        carry = 0;
    }
    for (u32 base = 0; base <= tiles; base += kScanThreads * kScanEach) {
        TM_THREADS(t, kScanThreads) {
            u32 sum = 0;
            const u32 begin = base + kScanEach * t;
            TM_UNROLL
            for (u32 i = 0; i < kScanEach; i += 4) {
                sum += sum_of(tiles_at(counts, begin + i, tiles));
            }
            sums[t] = sum;
        }
        TM_SYNC();
        block_prefix<kScanThreads>(sums, kScanThreads);
        TM_THREADS(t, kScanThreads) {
            u32 sum = carry + sums[t];
            const u32 begin = base + kScanEach * t;
            TM_UNROLL
            for (u32 i = 0; i < kScanEach; i += 4) {
                if (begin + i <= tiles) {
                    sum = write_sums(out, begin + i, tiles_at(counts, begin + i, tiles), sum);
                }
            }
        }
        TM_SYNC();
        TM_THREADS(t, 1) {
            carry += sums[kScanThreads];
        }
        TM_SYNC();
    }
    TM_THREADS(t, 1) {
        *total = carry;
    }
}

// scan_words: tile_words -> word_base, and the count of all words.
TM_KERNEL(1024) scan_words(const Tables*, const Batch* batch) {
    scan_tiles(batch->tile_words, batch->word_base, u32(batch->tiles),
               &batch->counters[kWordCount]);
}

// scan_ids: tile_ids -> id_base, and the count of all ids.
TM_KERNEL(1024) scan_ids(const Tables*, const Batch* batch) {
    scan_tiles(batch->tile_ids, batch->id_base, u32(batch->tiles), &batch->counters[kIdCount]);
}
