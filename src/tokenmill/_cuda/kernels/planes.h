// The bits of 32 bytes by their place: plane k has bit k of every byte. A class of single bytes is
// then a few operations on planes, for all 32 bytes at once.
//
//   bytes    'a' = 01100001  'B' = 01000010  ' ' = 00100000
//   plane 6  1 1 0      plane 5  1 0 1      plane 1  0 1 0      plane 0  1 0 0
#pragma once

#include "text.h"

struct Planes {
    u32 of[8];
};

// Transposes four words of four bytes: out[j] has byte j of a, b, c and d.
TM_DEVICE void turn_bytes(u32 a, u32 b, u32 c, u32 d, u32* out) {
    const u32 ab_low = pick_bytes(a, b, 0x5140);
    const u32 ab_high = pick_bytes(a, b, 0x7362);
    const u32 cd_low = pick_bytes(c, d, 0x5140);
    const u32 cd_high = pick_bytes(c, d, 0x7362);
    out[0] = pick_bytes(ab_low, cd_low, 0x5410);
    out[1] = pick_bytes(ab_low, cd_low, 0x7632);
    out[2] = pick_bytes(ab_high, cd_high, 0x5410);
    out[3] = pick_bytes(ab_high, cd_high, 0x7632);
}

// Swaps the bits of x outside of `mask` with the bits of y inside it, `shift` places lower: one
// step of a transpose of bits.
TM_DEVICE void swap_bits(u32& x, u32& y, u32 shift, u32 mask) {
    const u32 low = (x & mask) | (y << shift & ~mask);
    y = (x >> shift & mask) | (y & ~mask);
    x = low;
}

// Word j gets the bytes j, j + 8, j + 16 and j + 24. Then every eight by eight square of bits is
// transposed, in three steps.
TM_DEVICE Planes planes_of(const Bytes32& bytes) {
    Planes p;
    turn_bytes(bytes.low.x, bytes.low.z, bytes.high.x, bytes.high.z, p.of);
    turn_bytes(bytes.low.y, bytes.low.w, bytes.high.y, bytes.high.w, p.of + 4);
    TM_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        swap_bits(p.of[i], p.of[i + 4], 4, 0x0F0F0F0FU);
    }
    TM_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        const u32 at = i + (i & 2);
        swap_bits(p.of[at], p.of[at + 2], 2, 0x33333333U);
    }
    TM_UNROLL
    for (u32 i = 0; i < 8; i += 2) {
        swap_bits(p.of[i], p.of[i + 1], 1, 0x55555555U);
    }
    return p;
}
