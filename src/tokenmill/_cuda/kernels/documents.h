// document_ids: where the ids of each document start.
#pragma once

constexpr u32 kDocumentLanes = 8;  // threads that count the words before a document

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

// One thread's share of the words of a tile that start before a document: every kDocumentLanes-th
// word of start_bits. `begin` is the document's first byte.
TM_DEVICE u32 words_before(const u32* start_bits, u32 begin, u32 lane) {
    const u32 tile = begin / TM_TILE * TM_TILE_WORDS;
    const u32 end = begin / 32;
    u32 rank = 0;
    TM_UNROLL
    for (u32 k = 0; k < TM_TILE_WORDS; k += kDocumentLanes) {
        const u32 i = tile + k + lane;
        if (i <= end) {
            rank += count_bits(start_bits[i] & (i < end ? ~0u : (1u << begin % 32) - 1));
        }
    }
    return rank;
}

// document_ids: codes, start_bits -> doc_ids, and kOverflow for documents whose ids did not fit.
//
// emit_ids wrote where a document's ids start into the code of its first word. A block owns 32
// documents at a time, and kDocumentLanes neighbouring threads one of them: they count the words of
// its tile that start before it. The first barrier clears ranks[], the second one completes them,
// the third one keeps the next round from clearing them early. One thread writes a document.
TM_KERNEL(256) document_ids(const Tables*, const Batch* batch) {
    constexpr u32 kAtOnce = 256 / kDocumentLanes;
    TM_SHARED u32 ranks[kAtOnce];
    const u32 documents = u32(batch->documents);
    for (u32 base = kAtOnce * TM_BLOCK; base <= documents; base += kAtOnce * TM_BLOCKS) {
        TM_THREADS(t, kAtOnce) {
            ranks[t] = 0;
        }
        TM_SYNC();
        TM_THREADS(t, 256) {
            const u32 document = base + t / kDocumentLanes;
            const u32 begin = document < documents ? batch->doc_begin[document] : 0;
            const bool inside = document < documents && begin < batch->size;
            const u32 lane = t % kDocumentLanes;
            const u32 rank = inside ? words_before(batch->start_bits, begin, lane) : 0;
            add_over_lanes<kDocumentLanes>(&ranks[t / kDocumentLanes], rank, t);
        }
        TM_SYNC();
        TM_THREADS(t, kAtOnce) {
            if (base + t <= documents) {
                write_document(batch, base + t, ranks[t]);
            }
        }
        TM_SYNC();
    }
}
