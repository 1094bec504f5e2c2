// Reasons to send a document to the CPU, looked for in 32 bytes at a time.
#pragma once

#include "text.h"

// Characters that a normalizer may change.
TM_DEVICE bool is_unsafe(const Tables* tables, u32 code) {
    return (read_table(tables->unsafe_basic + (code >> 5)) >> (code & 31) & 1) != 0;
}

// The same for bytes below 0x80; normalizers rarely change any of them.
TM_DEVICE u32 unsafe_ascii(const Tables* tables, const u8* bytes, u32 valid) {
    const u32* const table = tables->unsafe_basic;
    if ((read_table(table) | read_table(table + 1) | read_table(table + 2) |
         read_table(table + 3)) == 0) {
        return 0;
    }
    u32 found = 0;
    for (u32 i = 0; i < 32; ++i) {
        found |= u32(bytes[i] < 0x80 && is_unsafe(tables, bytes[i])) << i;
    }
    return found & valid;
}

// Does an added token start with these bytes? A token that reaches into the next document is found
// too, which only costs time.
TM_DEVICE bool is_added_prefix(const Tables* tables, const u8* text, u32 position) {
    const u64 bytes = u64(four_bytes(text, position + 4)) << 32 | four_bytes(text, position);
    const u64 count = tables->added_count;
    for (u64 i = 0; i < count; ++i) {
        if ((bytes & tables->added_masks[i]) == tables->added_prefixes[i]) {
            return true;
        }
    }
    return false;
}

// The candidates among 32 bytes where an added token starts.
TM_DEVICE u32 added_prefixes(const Tables* tables, const u8* text, u32 position, u32 candidates) {
    u32 found = 0;
    for (u32 rest = candidates; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        const u32 byte = text[position + i];
        if ((read_table(tables->added_first + (byte >> 5)) >> (byte & 31) & 1) != 0) {
            found |= u32(is_added_prefix(tables, text, position + i)) << i;
        }
    }
    return found;
}

// The first bytes of added tokens, 0 if they are not looked for.
//   byte     7          6 .. 1 0
//   content  how many   the bytes, if there are at most seven
TM_DEVICE u64 first_bytes(const Tables* tables, const Batch* batch) {
    return (batch->options & kFindAdded) != 0 ? tables->added_bytes : 0;
}

// The high bit of each of four bytes that may equal the byte which `spread` holds four times. The
// byte above an equal one may be marked too, so this is only a filter.
TM_DEVICE u32 may_equal(u32 four, u32 spread) {
    const u32 zero = four ^ spread;
    return (zero - 0x01010101U) & ~zero & 0x80808080U;
}

// The bytes of 32 that may start an added token. Most often there is none, so that is tested first.
TM_DEVICE u32 may_begin_added(u64 first, const Bytes32& b) {
    const u32 count = u32(first >> 56);
    if (count > 7) {
        return ~0U;
    }
    u32 found = 0;
    TM_ROLLED
    for (u32 i = 0; i < count; ++i) {
        const u32 spread = u32(first >> 8 * i & 255) * 0x01010101U;
        u32 any = 0;
#define TM_ANY(bytes) any |= may_equal(bytes, spread);
        TM_EACH_FOUR_BACKWARDS(b, TM_ANY)
#undef TM_ANY
        if (any != 0) {
            u32 mask = 0;
#define TM_PUSH(bytes) mask = push_four(mask, may_equal(bytes, spread));
            TM_EACH_FOUR_BACKWARDS(b, TM_PUSH)
#undef TM_PUSH
            found |= mask;
        }
    }
    return found;
}
