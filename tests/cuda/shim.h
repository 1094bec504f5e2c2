// The vocabulary of platform.h for a host compiler: threads are a loop, blocks are calls.
#pragma once

#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(16) uint4 {
    u32 x, y, z, w;
};
inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) {
    return {x, y, z, w};
}

extern "C" {
inline u32 shim_block = 0;
inline u32 shim_blocks = 1;
void shim_set_block(u32 block, u32 blocks) {
    shim_block = block;
    shim_blocks = blocks;
}
}

#define TM_KERNEL(...) extern "C" void
#define TM_DEVICE inline
#define TM_RARE inline
#define TM_SHARED static
#define TM_ALIGN16 alignas(16)
#define TM_THREADS(t, n) for (u32 t = 0; t < u32(n); ++t)
#define TM_SYNC() ((void)0)
#define TM_BLOCK shim_block
#define TM_BLOCKS shim_blocks
#define TM_UNROLL
#define TM_ROLLED

inline u32 count_bits(u32 x) {
    return u32(__builtin_popcount(x));
}
inline u32 lowest_bit(u32 x) {
    return u32(__builtin_ctz(x));
}
inline u32 lowest_bit64(u64 x) {
    return u32(__builtin_ctzll(x));
}
inline u32 highest_bit(u32 x) {
    return u32(31 - __builtin_clz(x));
}
inline u32 highest_bit64(u64 x) {
    return u32(63 - __builtin_clzll(x));
}
inline u32 pick_bytes(u32 low, u32 high, u32 selector) {
    const u64 bytes = u64(high) << 32 | low;
    u32 picked = 0;
    for (u32 i = 0; i < 4; ++i) {
        picked |= u32(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    }
    return picked;
}
inline u32 funnel(u32 low, u32 high, u32 shift) {
    return u32((u64(high) << 32 | low) >> (shift & 31));
}
inline uint4 read_once(const uint4* at) {
    return *at;
}
inline u32 read_once(const u32* at) {
    return *at;
}
inline void write_once(u32* at, u32 value) {
    *at = value;
}
inline void write_once(u64* at, u64 value) {
    *at = value;
}
inline void write_once(uint4* at, uint4 value) {
    *at = value;
}
inline uint4 read_table(const uint4* at) {
    return *at;
}
inline u64 read_table(const u64* at) {
    return *at;
}
inline u32 read_table(const u32* at) {
    return *at;
}
inline u32 atomicAdd(u32* at, u32 value) {
    const u32 old = *at;
    *at += value;
    return old;
}
inline u32 atomicOr(u32* at, u32 value) {
    const u32 old = *at;
    *at |= value;
    return old;
}
inline u32 atomicMin(u32* at, u32 value) {
    const u32 old = *at;
    if (value < old) {
        *at = value;
    }
    return old;
}
inline u64 atomicMin(u64* at, u64 value) {
    const u64 old = *at;
    if (value < old) {
        *at = value;
    }
    return old;
}
inline u32 atomicCAS(u32* at, u32 expected, u32 value) {
    const u32 old = *at;
    if (old == expected) {
        *at = value;
    }
    return old;
}
inline void add_up(u32* sum, u32 thread, u32 value) {
    (void)thread;
    *sum += value;
}
template <typename T>
inline T* global_memory(T* at) {
    return at;
}
