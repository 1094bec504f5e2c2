// What the threads of a block compute together: sums; and unaligned loads of text.
#pragma once

// Adds the values of a warp's threads to *at, with one atomic. Every thread of the block must call
// it.
TM_DEVICE void add_over_warp(u32* at, u32 value, u32 thread) {
#if defined(TM_HOST)
    (void)thread;
    *at += value;
#else
    const u32 sum = warp_sum(value);
    if ((thread & 31) == 0 && sum != 0) {
        atomicAdd(at, sum);
    }
#endif
}

// The same for kLanes neighbouring threads, a power of two up to 32; no other threads use *at, so
// no atomic is needed.
template <u32 kLanes>
TM_DEVICE void add_over_lanes(u32* at, u32 value, u32 thread) {
#if defined(TM_HOST)
    (void)thread;
    *at += value;
#else
    TM_UNROLL
    for (u32 step = kLanes / 2; step != 0; step /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    }
    if (thread % kLanes == 0) {
        *at += value;
    }
#endif
}

// Tells the compiler how many threads a block has.
template <u32 kThreads>
TM_DEVICE void assume_threads() {
#if !defined(TM_HOST)
    __builtin_assume(threadIdx.x < kThreads);
#endif
}

// A value of each thread that is kept over a TM_SYNC(): in a register on a device.
template <typename T, u32 kThreads>
struct PerThread {
#if defined(TM_HOST)
    T values[kThreads];
    T& operator[](u32 thread) { return values[thread]; }
#else
    T value;
    TM_DEVICE T& operator[](u32) { return value; }
#endif
};

// The value of each thread becomes the sum of those before it; returns the sum of all. It has one
// barrier, between writing and reading the sums of warps; the caller needs another one before it
// calls this again.
//   [3 1 4 1] -> [0 3 4 8], returns 9
template <u32 kThreads>
TM_DEVICE u32 sums_before(PerThread<u32, kThreads>& values) {
    u32 all = 0;
#if defined(TM_HOST)
    for (u32 t = 0; t < kThreads; ++t) {
        const u32 value = values[t];
        values[t] = all;
        all += value;
    }
#else
    __shared__ u32 totals[kThreads / 32];
    const u32 lane = threadIdx.x & 31;
    const u32 warp = threadIdx.x >> 5;
    u32 sum = values.value;
    TM_UNROLL
    for (u32 step = 1; step < 32; step <<= 1) {
        const u32 left = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += lane >= step ? left : 0;
    }
    if (lane == 31) {
        totals[warp] = sum;
    }
    __syncthreads();
    u32 before = 0;
    TM_UNROLL
    for (u32 k = 0; k < kThreads / 32; ++k) {
        const u32 total = totals[k];
        before += k < warp ? total : 0;
        all += total;
    }
    values.value = before + sum - values.value;
#endif
    return all;
}

// values[0..n) become the sums of those before them, and values[n] the sum of all. `values` is in
// shared memory and was written before the last TM_SYNC; it ends with a barrier.
//   [3 1 4] -> [0 3 4 8]
template <u32 kThreads>
TM_DEVICE void block_prefix(u32* values, u32 n) {
#if defined(TM_HOST)
    u32 sum = 0;
    for (u32 i = 0; i < n; ++i) {
        const u32 value = values[i];
        values[i] = sum;
        sum += value;
    }
    values[n] = sum;
#else
    __shared__ u32 totals[kThreads / 32];
    const u32 lane = threadIdx.x & 31;
    const u32 warp = threadIdx.x >> 5;
    u32 carry = 0;
    for (u32 base = 0; base < n; base += kThreads) {
        const u32 i = base + threadIdx.x;
        const u32 value = i < n ? values[i] : 0;
        u32 sum = value;
        TM_UNROLL
        for (u32 step = 1; step < 32; step <<= 1) {
            const u32 left = __shfl_up_sync(0xFFFFFFFFu, sum, step);
            sum += lane >= step ? left : 0;
        }
        if (lane == 31) {
            totals[warp] = sum;
        }
        __syncthreads();
        u32 before = carry;
        TM_UNROLL
        for (u32 k = 0; k < kThreads / 32; ++k) {
            const u32 total = totals[k];
            before += k < warp ? total : 0;
            carry += total;
        }
        if (i < n) {
            values[i] = before + sum - value;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        values[n] = carry;
    }
    __syncthreads();
#endif
}

// The lowest `bytes` bytes of a word: none if negative, all from four on.
TM_DEVICE u32 byte_mask(int bytes) {
    const u32 bits = 8 * bytes > 0 ? u32(8 * bytes) : 0;
#if defined(TM_HOST)
    return bits < 32 ? (1u << bits) - 1 : 0xFFFFFFFFu;
#else
    return ~__funnelshift_lc(0u, 0xFFFFFFFFu, bits);  // shifts by 32 at most
#endif
}

// Four bytes of text from any position. It reads up to three bytes before and four after them.
TM_DEVICE u32 text_word(const u8* text, u32 at) {
    const u32* word = reinterpret_cast<const u32*>(text + (at & ~3u));
    return funnel(word[0], word[1], 8 * (at & 3));
}
