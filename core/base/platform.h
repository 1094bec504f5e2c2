// base/platform: the processor this is compiled for, and what only some compilers know. No other
// file asks which compiler it is, except those of one target (<name>_<target>).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#if defined(__x86_64__) || (defined(_M_X64) && !defined(_M_ARM64EC))
#define TOKENMILL_X86_64 1
#else
#define TOKENMILL_X86_64 0
#endif

#if defined(__aarch64__) || defined(_M_ARM64)
#define TOKENMILL_AARCH64 1
#else
#define TOKENMILL_AARCH64 0
#endif

#if defined(__wasm32__)
#define TOKENMILL_WASM32 1
#else
#define TOKENMILL_WASM32 0
#endif

// WebAssembly has vectors or not, by the flags of the compiler: a module that holds one such
// instruction is refused as a whole where they are missing, so there is no choice at run time.
#if TOKENMILL_WASM32 && defined(__wasm_simd128__)
#define TOKENMILL_SIMD128 1
#else
#define TOKENMILL_SIMD128 0
#endif

// INLINE: for the few functions of a hot loop that must not become calls: their results stay in
// registers. COLD: for what a hot function hardly ever does. KEEP: the value is in a register here,
// so the compiler neither makes a jump of what made it nor keeps it in memory.
#if defined(__GNUC__)  // Clang, too
#define TOKENMILL_INLINE [[gnu::always_inline]] inline
#define TOKENMILL_NOINLINE [[gnu::noinline]]
#define TOKENMILL_COLD [[gnu::noinline, gnu::cold]]
#define TOKENMILL_KEEP(value) asm("" : "+r"(value))
#else
#define TOKENMILL_INLINE __forceinline
#define TOKENMILL_NOINLINE __declspec(noinline)
#define TOKENMILL_COLD __declspec(noinline)
#define TOKENMILL_KEEP(value) static_cast<void>(value)
#endif

// GCC calls an unrolled loop a pragma; others unroll short loops of constant length by themselves.
#if defined(__GNUC__) && !defined(__clang__)
#define TOKENMILL_UNROLL_8 _Pragma("GCC unroll 8")
#else
#define TOKENMILL_UNROLL_8
#endif

namespace tokenmill {

[[nodiscard]] TOKENMILL_INLINE bool unlikely(bool condition) noexcept {
#if defined(__GNUC__)
    return __builtin_expect(static_cast<long>(condition), 0L) != 0;
#else
    return condition;
#endif
}

[[nodiscard]] TOKENMILL_INLINE bool likely(bool condition) noexcept {
    return !unlikely(!condition);
}

enum class NearTo { L1, L2 };

// Asks for the line of memory at `at`; it need not be readable.
template <NearTo near_to = NearTo::L1>
TOKENMILL_INLINE void prefetch_line(const void* at) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(at, 0, near_to == NearTo::L1 ? 3 : 2);
#elif TOKENMILL_X86_64
    _mm_prefetch(static_cast<const char*>(at), near_to == NearTo::L1 ? _MM_HINT_T0 : _MM_HINT_T1);
#else
    static_cast<void>(at);
#endif
}

// The same for a line that will be written.
TOKENMILL_INLINE void prefetch_to_write(const void* at) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(at, 1);
#else
    prefetch_line(at);
#endif
}

// Of a plain number that other threads may write; `std::atomic_ref` would want it not to be const.
template <typename Number>
[[nodiscard]] TOKENMILL_INLINE Number load_acquire(const Number& number) noexcept {
#if defined(__GNUC__)
    return __atomic_load_n(&number, __ATOMIC_ACQUIRE);
#else
    return std::atomic_ref(const_cast<Number&>(number)).load(std::memory_order_acquire);
#endif
}

template <typename Number>
[[nodiscard]] TOKENMILL_INLINE Number load_relaxed(const Number& number) noexcept {
#if defined(__GNUC__)
    return __atomic_load_n(&number, __ATOMIC_RELAXED);
#else
    return std::atomic_ref(const_cast<Number&>(number)).load(std::memory_order_relaxed);
#endif
}

// The number of zeros below the lowest one; needs bits != 0. Unlike std::countr_zero, which pays
// for that case where the processor has no instruction for it.
[[nodiscard]] TOKENMILL_INLINE unsigned zeros_below(std::uint64_t bits) noexcept {
#if defined(__GNUC__)
    return static_cast<unsigned>(__builtin_ctzll(bits));
#else
    return static_cast<unsigned>(std::countr_zero(bits));
#endif
}

// The number of zeros above the highest one; needs bits != 0.
[[nodiscard]] TOKENMILL_INLINE unsigned zeros_above(std::uint64_t bits) noexcept {
#if defined(__GNUC__)
    return static_cast<unsigned>(__builtin_clzll(bits));
#else
    return static_cast<unsigned>(std::countl_zero(bits));
#endif
}

// std::popcount would be compiled for any CPU, not for the target that calls it.
[[nodiscard]] TOKENMILL_INLINE unsigned ones_of(std::uint64_t bits) noexcept {
#if defined(__GNUC__)
    return static_cast<unsigned>(__builtin_popcountll(bits));
#else
    return static_cast<unsigned>(std::popcount(bits));
#endif
}

struct Product128 {
    std::uint64_t low;
    std::uint64_t high;
};

[[nodiscard]] TOKENMILL_INLINE Product128 multiply_128(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64)};
#elif defined(_M_X64)
    Product128 product;
    product.low = _umul128(a, b, &product.high);
    return product;
#else
    //           a1 a0
    //         * b1 b0        32 bits each
    //   =  a1b1    a0b0
    //    +   a1b0+a0b1
    const std::uint64_t a0 = a & 0xFFFFFFFF;
    const std::uint64_t a1 = a >> 32;
    const std::uint64_t b0 = b & 0xFFFFFFFF;
    const std::uint64_t b1 = b >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const std::uint64_t other = a0 * b1 + (middle & 0xFFFFFFFF);
    return {a * b, a1 * b1 + (middle >> 32) + (other >> 32)};
#endif
}

// The first place of `wanted` in `size` bytes, or null.
[[nodiscard]] inline const void* find_bytes(const void* in, std::size_t size, const void* wanted,
                                            std::size_t wanted_size) noexcept {
#if defined(_WIN32)
    if (wanted_size == 0) {
        return in;
    }
    const auto* at = static_cast<const unsigned char*>(in);
    const unsigned char first = *static_cast<const unsigned char*>(wanted);
    const unsigned char* const end = at + size;
    while (static_cast<std::size_t>(end - at) >= wanted_size) {
        const std::size_t starts = static_cast<std::size_t>(end - at) - wanted_size + 1;
        at = static_cast<const unsigned char*>(std::memchr(at, first, starts));
        if (at == nullptr || std::memcmp(at, wanted, wanted_size) == 0) {
            return at;
        }
        ++at;
    }
    return nullptr;
#else
    return memmem(in, size, wanted, wanted_size);
#endif
}

// The last place of a byte, or null.
[[nodiscard]] inline const void* find_last_byte(const void* in, std::size_t size,
                                                unsigned char wanted) noexcept {
#if defined(__linux__)
    return memrchr(in, wanted, size);
#else
    const auto* const begin = static_cast<const unsigned char*>(in);
    for (const unsigned char* at = begin + size; at != begin; --at) {
        if (at[-1] == wanted) {
            return at - 1;
        }
    }
    return nullptr;
#endif
}

}  // namespace tokenmill
