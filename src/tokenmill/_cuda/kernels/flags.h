// Documents that are left to the CPU, and why (DocumentFlag). Many threads may flag one document:
// atomicOr returns 0 to the first of them only, which counts it.
#pragma once

TM_DEVICE void leave_document(const Batch* batch, u32 document, u32 reason) {
    u32* flags = batch->doc_flags + document;
    if ((*flags & reason) == 0 && atomicOr(flags, reason) == 0) {
        atomicAdd(&batch->counters[kFlagged], 1u);
    }
}

// The document that holds a byte.
TM_DEVICE u32 document_at(const Batch* batch, u32 position) {
    const u32* begins = batch->doc_begin;
    u32 low = 0;
    u32 high = u32(batch->documents);
    while (low + 1 < high) {
        const u32 middle = (low + high) / 2;
        low = begins[middle] <= position ? middle : low;
        high = begins[middle] <= position ? high : middle;
    }
    return low;
}

TM_DEVICE void leave_document_at(const Batch* batch, u32 position, u32 reason) {
    leave_document(batch, document_at(batch, position), reason);
}
