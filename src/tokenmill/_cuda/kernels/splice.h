// The ids of a batch -> the ids that the caller gets: ids are added around each document, and
// documents that the CPU encoded replace those of the device.
//
//   result   [before] ids of document 0 [after] [before] ids of document 1 [after] ...
#pragma once

// Where document d starts in the result; d may be the number of documents.
TM_DEVICE i64 begin_in_result(const Splice* job, u64 d) {
    if (job->out_begin != nullptr) {
        return job->out_begin[d];
    }
    return i64(job->doc_ids[d]) + i64(d * (job->before_count + job->after_count));
}

// place_offsets: doc_ids or out_begin -> out_offsets, of all documents and the end.
//
// A thread owns every (256 * blocks)-th document and writes its offset: no barrier, no atomics.
TM_KERNEL(256) place_offsets(const Tables*, const Splice* job) {
    const u64 documents = job->documents;
    if (job->out_offsets == nullptr) {
        return;
    }
    for (u64 first = u64(TM_BLOCK) * 256; first <= documents; first += u64(TM_BLOCKS) * 256) {
        TM_THREADS(t, 256) {
            const u64 d = first + t;
            if (d <= documents) {
                job->out_offsets[d] = i64(job->base) + begin_in_result(job, d);
            }
        }
    }
}

// The document of id i of the result: the last one that starts at or before it.
TM_DEVICE u64 document_of(const Splice* job, u64 i) {
    u64 low = 0;
    u64 high = job->documents;
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        if (u64(begin_in_result(job, middle)) <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Id `at` of document d in the result; its text has `size` ids.
TM_DEVICE u32 id_of(const Splice* job, u64 d, u64 at, u64 size) {
    if (at < job->before_count) {
        return job->before[at];
    }
    at -= job->before_count;
    if (at >= size) {
        return job->after[at - size];
    }
    const i64 origin = job->out_begin == nullptr ? i64(job->doc_ids[d]) : job->origin[d];
    if (origin < 0) {
        return job->cpu_ids[u64(-1 - origin) + at];
    }
    return job->ids16 != nullptr ? u32(job->ids16[u64(origin) + at]) : job->ids[u64(origin) + at];
}

// splice_ids: ids of the batch, cpu_ids, before, after -> out or out16.
//
// A block takes 4096 ids of the result at a time, a thread every 256th of them, so that writes of a
// warp are next to each other. A thread searches for the document of its first id, and continues
// from there for the next ones. Every id is written once: no barrier, no atomics.
TM_KERNEL(256) splice_ids(const Tables*, const Splice* job) {
    const u64 total = job->total;
    const u64 frame = job->before_count + job->after_count;
    for (u64 first = u64(TM_BLOCK) * 4096; first < total; first += u64(TM_BLOCKS) * 4096) {
        TM_THREADS(t, 256) {
            const u64 end = first + 4096 < total ? first + 4096 : total;
            u64 d = first + t < end ? document_of(job, first + t) : 0;
            for (u64 i = first + t; i < end; i += 256) {
                while (u64(begin_in_result(job, d + 1)) <= i) {
                    ++d;
                }
                const u64 begin = u64(begin_in_result(job, d));
                const u64 size = u64(begin_in_result(job, d + 1)) - begin - frame;
                const u32 id = id_of(job, d, i - begin, size);
                if (job->out16 != nullptr) {
                    job->out16[i] = u16(id);
                } else {
                    job->out[i] = id;
                }
            }
        }
    }
}
