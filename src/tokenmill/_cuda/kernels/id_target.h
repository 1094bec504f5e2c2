// Where the ids of a batch go: an array of 32 or of 16 bits each, written four at a time.
#pragma once

struct IdTarget {
    u32* ids;  // of two bytes each if is_half
    bool is_half;
    u32 capacity;
};

TM_DEVICE IdTarget id_target(const Batch* batch) {
    const bool is_half = batch->ids16 != nullptr;
    u32* ids = is_half ? reinterpret_cast<u32*>(batch->ids16) : batch->ids;
    const u64 capacity = batch->id_capacity;
    return {ids, is_half, capacity < 0xFFFFFFFFu ? u32(capacity) : 0xFFFFFFFFu};
}

TM_DEVICE void write_id(const IdTarget& target, u32 at, u32 id) {
    if (target.is_half) {
        reinterpret_cast<u16*>(target.ids)[at] = u16(id);
    } else {
        target.ids[at] = id;
    }
}

TM_DEVICE void write_four(const IdTarget& target, u32 at, const u32* staged) {
    const uint4 four = *reinterpret_cast<const uint4*>(staged);
    if (target.is_half) {
        const u32 low = four.x | four.y << 16;
        const u32 high = four.z | four.w << 16;
        u16* ids = reinterpret_cast<u16*>(target.ids);
        write_once(reinterpret_cast<u64*>(ids + at), u64(high) << 32 | low);
    } else {
        write_once(reinterpret_cast<uint4*>(target.ids + at), four);
    }
}

// How many ids `out` is after a place where four can be written at once.
TM_DEVICE u32 id_shift(const IdTarget& target, u32 out) {
    const u64 place = reinterpret_cast<u64>(target.ids) / (target.is_half ? 2 : 4);
    return (u32(place) + out) % 4;
}
