// The first kernels of a batch: arrays that must start as zeros, and where documents start.
#pragma once

#define TM_CLEAR_THREADS 256

// `at` is a multiple of 16 bytes. Threads write every `stride`-th quad.
TM_DEVICE void clear_words(u32* at, u64 count, u64 first, u64 stride) {
    uint4* quads = (uint4*)at;
    for (u64 i = first; i < count / 4; i += stride) {
        quads[i] = make_uint4(0, 0, 0, 0);
    }
    for (u64 i = count / 4 * 4 + first; i < count; i += stride) {
        at[i] = 0;
    }
}

// The words of tiles where the batch before had added tokens, or a larger one before that: most
// tiles have none, and stay as they are.
TM_DEVICE void clear_spans(const Batch* batch, u64 first, u64 stride) {
    for (u64 i = first; i < batch->tiles * TM_TILE_WORDS; i += stride) {
        if (batch->tile_again[i / TM_TILE_WORDS] != 0) {
            batch->span_bits[i] = 0;
            batch->inner_bits[i] = 0;
            batch->raw_bits[i] = 0;
        }
    }
}

// clear_batch: zeros doc_bits, doc_flags, counters, the dedupe table, and the added tokens of the
// batch before.
//
// All threads of the grid share each array: thread g writes quads g, g + stride, ... No two threads
// write the same place, so there is no barrier; the next launch sees the zeros.
TM_KERNEL(TM_CLEAR_THREADS) clear_batch(const Tables* tables, const Batch* batch) {
    (void)tables;
    TM_THREADS(t, TM_CLEAR_THREADS) {
        const u64 first = u64(TM_BLOCK) * TM_CLEAR_THREADS + t;
        const u64 stride = u64(TM_BLOCKS) * TM_CLEAR_THREADS;
        clear_words(batch->doc_bits, batch->tiles * TM_TILE_WORDS + 2, first, stride);
        clear_words(batch->doc_flags, batch->documents, first, stride);
        clear_words(batch->counters, 64, first, stride);
        if (batch->dedupe != nullptr) {
            clear_words(batch->dedupe, batch->dedupe_mask + 1, first, stride);
        }
        clear_spans(batch, first, stride);
    }
}

// mark_documents: doc_begin -> doc_bits, a bit at the first byte of every document; and zeros
// tile_again, which clear_batch has read.
//
// A thread owns every `stride`-th document. Documents that start in the same 32 bytes share a word
// of doc_bits, so bits are set with atomicOr; their order does not matter.
TM_KERNEL(TM_CLEAR_THREADS) mark_documents(const Tables* tables, const Batch* batch) {
    (void)tables;
    TM_THREADS(t, TM_CLEAR_THREADS) {
        const u32* const begins = batch->doc_begin;
        u32* const bits = batch->doc_bits;
        const u64 documents = batch->documents;
        const u64 first = u64(TM_BLOCK) * TM_CLEAR_THREADS + t;
        const u64 stride = u64(TM_BLOCKS) * TM_CLEAR_THREADS;
        for (u64 i = first; i < batch->tiles; i += stride) {
            batch->tile_again[i] = 0;
        }
        for (u64 i = first; i < documents; i += stride) {
            const u32 begin = begins[i];
            if (begin < begins[i + 1]) {  // an empty one has no byte to mark
                atomicOr(bits + 1 + (begin >> 5), 1U << (begin & 31));
            }
        }
    }
}
