// merge_16 to merge_long for vocabularies whose words are looked up, not merged: a thread takes a
// word of any size, and writes its ids to the arena at the place of its text.
#pragma once

// A thread owns every (blocks * kThreads)-th word of the list. Threads share nothing, so there is
// no barrier and no atomic.
template <u32 kThreads>
TM_DEVICE void look_up_list(const Tables* tables, const Batch* batch, u32 bin) {
    const u32 count = bin_total(batch, bin);
    const u32* list = bin_list(batch, bin);
    TM_THREADS(t, kThreads) {
        for (u32 i = TM_BLOCK * kThreads + t; i < count; i += TM_BLOCKS * kThreads) {
            const uint4 miss = batch->misses[list[i]];
            u32* ids = batch->arena + arena_place(miss.x);
            batch->miss_counts[list[i]] = word_ids(tables, batch, miss, ids);
        }
    }
}

TM_KERNEL(128) merge_16(const Tables* tables, const Batch* batch) {
    look_up_list<128>(tables, batch, 0);
}

TM_KERNEL(128) merge_32(const Tables* tables, const Batch* batch) {
    look_up_list<128>(tables, batch, 1);
}

TM_KERNEL(64) merge_64(const Tables* tables, const Batch* batch) {
    look_up_list<64>(tables, batch, 2);
}

TM_KERNEL(32) merge_128(const Tables* tables, const Batch* batch) {
    look_up_list<32>(tables, batch, 3);
}

TM_KERNEL(32) merge_512(const Tables* tables, const Batch* batch) {
    look_up_list<32>(tables, batch, 4);
}

TM_KERNEL(256) merge_long(const Tables* tables, const Batch* batch) {
    look_up_list<256>(tables, batch, 5);
}
