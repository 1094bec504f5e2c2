// A short batch comes from pinned memory of the host and goes back there by kernels, so that one
// graph is all that the host launches. A copy engine would be started, and waited for, six times.
#pragma once

#define TM_TRANSFER_THREADS 256

// Copies quads of 16 bytes; both ends are aligned to them. A thread has four loads on their way
// before its first store: each takes a microsecond across the bus.
TM_DEVICE void move_quads(uint4* to, const uint4* from, u64 count, u64 first, u64 stride) {
    u64 i = first;
    for (; i + 3 * stride < count; i += 4 * stride) {
        const uint4 a = from[i];
        const uint4 b = from[i + stride];
        const uint4 c = from[i + 2 * stride];
        const uint4 d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < count; i += stride) {
        to[i] = from[i];
    }
}

TM_DEVICE u64 quads_of(u64 size_bytes) {
    return (size_bytes + 15) / 16;
}

// The last block of a grid moves what is small, the others a text or its ids. Thread g of those
// moves quads g, g + stride, ... No two threads write the same place, so there is no barrier.
TM_DEVICE void move_large(void* to, const void* from, u64 size_bytes, u32 thread) {
    const u64 stride = u64(TM_BLOCKS - 1) * TM_TRANSFER_THREADS;
    const u64 first = u64(TM_BLOCK) * TM_TRANSFER_THREADS + thread;
    move_quads((uint4*)to, (const uint4*)from, quads_of(size_bytes), first, stride);
}

TM_DEVICE void move_small(void* to, const void* from, u64 size_bytes, u32 thread) {
    move_quads((uint4*)to, (const uint4*)from, quads_of(size_bytes), thread, TM_TRANSFER_THREADS);
}

// arrive: the text, doc_begin and the structs of a batch, from the host to the device. `from` is
// memory of the host, too, so each thread reads all of it at once.
TM_KERNEL(TM_TRANSFER_THREADS) arrive(const Tables*, const Transfer* from) {
    TM_THREADS(t, TM_TRANSFER_THREADS) {
        const Transfer job = *from;
        if (TM_BLOCK + 1 < TM_BLOCKS) {
            move_large(job.text, job.text_from, job.size, t);
        } else {
            move_small(job.structs, job.structs_from, 8 * job.struct_words, t);
            move_small(job.begins, job.begins_from, 4 * job.begin_count, t);
        }
    }
}

// deliver: counters, doc_ids and ids of a batch, from the device to the host. Only as many ids as
// there are cross the bus, and no more than there is room for.
TM_KERNEL(TM_TRANSFER_THREADS) deliver(const Tables*, const Transfer* to) {
    TM_THREADS(t, TM_TRANSFER_THREADS) {
        if (TM_BLOCK + 1 < TM_BLOCKS) {
            const u64 count = to->counters[kIdCount];
            const u64 most = count < to->id_room ? count : to->id_room;
            move_large(to->ids_to, to->ids, most * to->id_bytes, t);
        } else {
            move_small(to->counters_to, to->counters, 4 * 64, t);
            move_small(to->doc_ids_to, to->doc_ids, 4 * to->begin_count, t);
        }
    }
}
