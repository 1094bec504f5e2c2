// The language of the kernels: C++17 without a standard library, in phases.
//
// A kernel is a sequence of phases over the threads of a block. TM_THREADS(t, n) { ... } runs its
// body for every thread t < n, nothing inside waits for another thread, and TM_SYNC() separates
// phases. A value that is needed after a TM_SYNC() is in shared memory, or in a PerThread. So the
// same text is a CUDA kernel for NVRTC and a plain loop for a host compiler (TM_HOST, shim.h of the
// tests).
#pragma once

#if defined(TM_HOST)
#include "shim.h"
#else

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// TM_KERNEL(threads), or TM_KERNEL(threads, blocks): registers for that many blocks on a processor.
#define TM_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define TM_DEVICE __device__ __forceinline__
#define TM_RARE __device__ __noinline__  // its registers do not count where it is not called
#define TM_SHARED __shared__
#define TM_ALIGN16 __align__(16)
#define TM_THREADS(t, n) if (const u32 t = threadIdx.x; t < u32(n))
#define TM_SYNC() __syncthreads()
#define TM_BLOCK u32(blockIdx.x)
#define TM_BLOCKS u32(gridDim.x)
#define TM_UNROLL _Pragma("unroll")
#define TM_ROLLED _Pragma("unroll 1")

TM_DEVICE u32 count_bits(u32 x) {
    return u32(__popc(int(x)));
}
TM_DEVICE u32 lowest_bit(u32 x) {
    return u32(__ffs(int(x)) - 1);
}  // x is not 0
TM_DEVICE u32 lowest_bit64(u64 x) {
    return u32(__ffsll(i64(x)) - 1);
}  // x is not 0
TM_DEVICE u32 highest_bit(u32 x) {
    return u32(31 - __clz(int(x)));
}  // x is not 0
TM_DEVICE u32 highest_bit64(u64 x) {
    return u32(63 - __clzll(i64(x)));
}  // x is not 0
// The 32 bits of high:low from bit `shift` (below 32) up.
//   high:low  h31 .. h1 h0 : l31 .. l1 l0      shift 1 ->  h0 l31 .. l1
TM_DEVICE u32 funnel(u32 low, u32 high, u32 shift) {
    return __funnelshift_r(low, high, shift);
}
// Four of the eight bytes of high:low; hexadecimal digit k of the selector chooses byte k.
TM_DEVICE u32 pick_bytes(u32 low, u32 high, u32 selector) {
    return __byte_perm(low, high, selector);
}
// For data that is read or written once: it must not evict the tables from the caches.
TM_DEVICE uint4 read_once(const uint4* at) {
    return __ldcs(at);
}
TM_DEVICE u32 read_once(const u32* at) {
    return __ldcs(at);
}
TM_DEVICE void write_once(u32* at, u32 value) {
    __stcs(at, value);
}
TM_DEVICE void write_once(u64* at, u64 value) {
    __stcs(at, value);
}
TM_DEVICE void write_once(uint4* at, uint4 value) {
    __stcs(at, value);
}
TM_DEVICE uint4 read_table(const uint4* at) {
    return __ldg(at);
}
TM_DEVICE u64 read_table(const u64* at) {
    return __ldg(at);
}
TM_DEVICE u32 read_table(const u32* at) {
    return __ldg(at);
}
// Tells the compiler that a pointer from a struct is to global memory, for faster loads.
template <typename T>
TM_DEVICE T* global_memory(T* at) {
    __builtin_assume(__isGlobal(at));
    return at;
}
// The sum over a whole warp, all of whose lanes must call it.
TM_DEVICE u32 warp_sum(u32 value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, value);
#else
    for (int step = 16; step > 0; step >>= 1) {
        value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    }
    return value;
#endif
}
// Adds the values of all threads of a block to a sum in shared memory: one atomic a warp.
TM_DEVICE void add_up(u32* sum, u32 thread, u32 value) {
    const u32 of_warp = warp_sum(value);
    if ((thread & 31) == 0) {
        atomicAdd(sum, of_warp);
    }
}

#endif

// The tokenizer's split rule (tables.py); without one (family 0) the DFA finds the words.
#ifndef TM_FAMILY
#define TM_FAMILY 0
#endif
#ifndef TM_CONTRACTION
#define TM_CONTRACTION 0
#endif
#ifndef TM_DIGITS
#define TM_DIGITS 0
#endif
#ifndef TM_TAIL
#define TM_TAIL 0
#endif
#ifndef TM_END_RUN
#define TM_END_RUN 0
#endif
#ifndef TM_ISOLATE_DIGITS
#define TM_ISOLATE_DIGITS 0
#endif
#ifndef TM_ISOLATE_HAN
#define TM_ISOLATE_HAN 0
#endif
#ifndef TM_FOLD_LONG_S
#define TM_FOLD_LONG_S 0
#endif
#ifndef TM_STAGE_CLASSES
#define TM_STAGE_CLASSES 0
#endif
#ifndef TM_STAGE_SHIFT
#define TM_STAGE_SHIFT 0
#endif
#ifndef TM_STAGES
#define TM_STAGES 1  // DFAs in a chain
#endif
#ifndef TM_PARTS_MASK
#define TM_PARTS_MASK 0
#endif
#ifndef TM_NORMAL
#define TM_NORMAL 0
#endif
#ifndef TM_TILE
#define TM_TILE 8192  // bytes
#endif
#define TM_TILE_WORDS (TM_TILE / 32)  // words of 32 bits in a tile's mask

// The tokenizer's vocabulary (tables.py).
#ifndef TM_EXACT
#define TM_EXACT 0  // 1: some words are a token that merging does not make
#endif
#ifndef TM_PIECES
#define TM_PIECES 0  // 1: a word and an equal piece of a cut word may have different ids
#endif
#ifndef TM_CHARACTERS
#define TM_CHARACTERS 0  // 1: merging starts from characters, not bytes
#endif
#ifndef TM_WORD_PIECE
#define TM_WORD_PIECE 0  // 1: a word is the longest tokens one after the other
#endif
#ifndef TM_UNIGRAM
#define TM_UNIGRAM 0  // 1: a word is the pieces with the greatest sum of scores
#endif
#define TM_LOOKS_UP (TM_WORD_PIECE || TM_UNIGRAM)  // words are not merged; some have no ids
#ifndef TM_RING
#define TM_RING 0  // a power of two, more than the bytes of any piece
#endif
#ifndef TM_CLOSING
#define TM_CLOSING 0  // 1: white space at the end of a document has ids
#endif
#ifndef TM_ARENA_STEP
#define TM_ARENA_STEP 1  // the most ids of a word for each of its bytes
#endif
#ifndef TM_MAX_CHARACTERS
#define TM_MAX_CHARACTERS 0  // of a word; longer ones are unknown
#endif
#ifndef TM_CONTINUES
#define TM_CONTINUES 0  // the cell of the trie that leads to what continues a word
#endif
#ifndef TM_UNKNOWN
#define TM_UNKNOWN 0  // the id of unknown words
#endif
#ifndef TM_FIRST_BYTE
#define TM_FIRST_BYTE 0  // the symbol of byte 0 of unknown characters
#endif
#ifndef TM_IN_FRONT
#define TM_IN_FRONT 0  // 1: a blank comes before every document; 2: before those without one
#endif
#ifndef TM_RUN_BYTES
#define TM_RUN_BYTES 0  // a bit for each byte below 32 whose longer runs the CPU must encode
#endif
#ifndef TM_LONGEST_RUN
#define TM_LONGEST_RUN 0
#endif
