// dedupe_misses: misses -> one representative of equal words, and lists of those by size.
#pragma once

constexpr u32 kDedupeThreads = 256;
constexpr u32 kDedupeProbes = 8;
constexpr u32 kDedupedWord = 128;  // bytes
constexpr u32 kBins = 6;
constexpr u32 kNoBin = 0xFFFFFFFFu;

TM_DEVICE u32 miss_total(const Batch* batch) {
    const u64 count = batch->counters[kMissCount];
    return u32(count < batch->miss_capacity ? count : batch->miss_capacity);
}

TM_DEVICE u32 bin_of(u32 size) {
    const u32 short_bin = size <= 16 ? 0 : size <= 32 ? 1 : 2;
    return size <= 64 ? short_bin : size <= 128 ? 3 : size <= 512 ? 4 : 5;
}

// The lists, back to back. Words do not overlap, so a list of words of more than n bytes has at
// most text_capacity / n entries.
//   bin        0     1     2     3      4      5
//   bytes      1-16  -32   -64   -128   -512   -8192
TM_DEVICE u32* bin_list(const Batch* batch, u32 bin) {
    u64 begin = bin == 0 ? 0 : batch->miss_capacity;
    for (u32 k = 1; k < bin; ++k) {
        begin += batch->text_capacity / (8u << k) + 1;
    }
    return batch->miss_lists + begin;
}

TM_DEVICE u64 bin_room(const Batch* batch, u32 bin) {
    return bin == 0 ? batch->miss_capacity : batch->text_capacity / (8u << bin) + 1;
}

// How many words a list holds.
TM_DEVICE u32 bin_total(const Batch* batch, u32 bin) {
    const u64 count = batch->counters[kBinCount + bin];
    return u32(count < bin_room(batch, bin) ? count : bin_room(batch, bin));
}

TM_DEVICE bool same_miss(const u8* text, uint4 a, uint4 b) {
    if (a.y != b.y || a.z != b.z) {
        return false;
    }
    const u32 size = miss_size(a);
    for (u32 i = 0; i < size; i += 4) {
        const u32 differing = text_word(text, a.x + i) ^ text_word(text, b.x + i);
        if ((differing & byte_mask(int(size - i))) != 0) {
            return false;
        }
    }
    return true;
}

// The miss that represents all misses equal to `miss`, maybe itself. The table holds numbers of
// misses plus one, 0 is free. atomicCAS lets one of several equal words take a free slot; which one
// is chance, but all of them have the same ids.
TM_DEVICE u32 representative_of(const Batch* batch, u32 number, uint4 miss) {
    if (miss_size(miss) > kDedupedWord || (batch->options & kKeepRepeats) != 0) {
        return number;
    }
    const u32 mask = u32(batch->dedupe_mask);
    for (u32 probe = 0; probe < kDedupeProbes; ++probe) {
        u32* slot = batch->dedupe + ((miss.z + probe) & mask);
        u32 other = *slot;
        if (other == 0) {
            other = atomicCAS(slot, 0u, number + 1);
        }
        if (other == 0) {
            return number;
        }
        if (same_miss(batch->text, miss, batch->misses[other - 1])) {
            return other - 1;
        }
    }
    return number;
}

struct DedupeBlock {
    u32 counts[kBins];
    u32 begins[kBins];
    u32 bins[kDedupeThreads];  // of the words to merge
    u32 places[kDedupeThreads];
};

TM_DEVICE void sort_misses(const Batch* batch, u32 base, u32 total, DedupeBlock& block) {
    TM_THREADS(t, kDedupeThreads) {
        const u32 number = base + t;
        block.bins[t] = kNoBin;
        if (number < total) {
            const uint4 miss = batch->misses[number];
            const u32 first = representative_of(batch, number, miss);
            batch->misses[number].w = first;
            if (first == number) {
                const u32 bin = bin_of(symbol_places(miss));
                block.bins[t] = bin;
                block.places[t] = atomicAdd(&block.counts[bin], 1u);
            }
        }
    }
    TM_SYNC();
}

// dedupe_misses: misses -> misses[].w (the representative), miss_lists and their counters.
//
// A block takes 256 misses at a time, a thread one of them.
//   barrier 1  block.counts is zero
//   phase 2    each thread finds its representative and, if that is itself, a place in its list
//   barrier 2  block.counts is complete
//   phase 3    six threads reserve room in the lists: one atomic for each list, not for each word
//   barrier 3  block.begins is known; then each thread writes its entry
//   barrier 4  the next round may clear block.counts
TM_KERNEL(256) dedupe_misses(const Tables*, const Batch* batch) {
    TM_SHARED DedupeBlock block;
    const u32 total = miss_total(batch);
    for (u32 base = TM_BLOCK * kDedupeThreads; base < total; base += TM_BLOCKS * kDedupeThreads) {
        TM_THREADS(t, kBins) {
            block.counts[t] = 0;
        }
        TM_SYNC();
        sort_misses(batch, base, total, block);
        TM_THREADS(t, kBins) {
            block.begins[t] = 0;
            if (block.counts[t] != 0) {
                block.begins[t] = atomicAdd(&batch->counters[kBinCount + t], block.counts[t]);
            }
        }
        TM_SYNC();
        TM_THREADS(t, kDedupeThreads) {
            const u32 bin = block.bins[t];
            if (bin != kNoBin && block.begins[bin] + block.places[t] < bin_room(batch, bin)) {
                bin_list(batch, bin)[block.begins[bin] + block.places[t]] = base + t;
            }
        }
        TM_SYNC();
    }
}
