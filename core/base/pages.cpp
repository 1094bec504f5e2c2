#include "base/pages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#elif defined(__wasm__)
#include <cstdlib>
#include <cstring>
#else
#include <sys/mman.h>
#endif

namespace tokenmill {

namespace {

std::size_t round_up(std::size_t value, std::size_t step) noexcept {
    return (value + step - 1) / step * step;
}

}  // namespace

#if defined(_WIN32)

namespace {
constexpr std::size_t kPage = 4096;
}

// Large pages need a privilege that users seldom have, so they are not asked for.
PageSpan get_pages(std::size_t size_bytes, Pages) {
    const std::size_t size = round_up(size_bytes, kPage);
    void* const begin = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (begin == nullptr) {
        throw std::bad_alloc();
    }
    return {static_cast<std::uint8_t*>(begin), size, Pages::Small};
}

void free_pages(PageSpan span) noexcept {
    VirtualFree(span.begin, 0, MEM_RELEASE);
}

void touch_pages(void*, std::size_t) noexcept {}

void offer_pages(void* begin, std::size_t size_bytes) noexcept {
    VirtualAlloc(begin, round_up(size_bytes, kPage), MEM_RESET, PAGE_READWRITE);
}

#elif defined(__wasm__)

PageSpan get_pages(std::size_t size_bytes, Pages) {
    constexpr std::size_t kLine = 64;
    const std::size_t size = round_up(size_bytes, kLine);
    void* const begin = std::aligned_alloc(kLine, size);
    if (begin == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(begin, 0, size);
    return {static_cast<std::uint8_t*>(begin), size, Pages::Small};
}

void free_pages(PageSpan span) noexcept {
    std::free(span.begin);
}

void touch_pages(void*, std::size_t) noexcept {}

void offer_pages(void*, std::size_t) noexcept {}

#else

namespace {

constexpr std::size_t kPage = 4096;

void* map_pages(std::size_t size_bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
    flags |= MAP_NORESERVE;
#endif
    void* const begin = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (begin == MAP_FAILED) {
        throw std::bad_alloc();
    }
    return begin;
}

#if defined(MADV_HUGEPAGE)

constexpr std::size_t kHuge = std::size_t{2} << 20;

// 0.14 ms is usual, 4.7 is slow, and the small pages in the place of one take 0.6 (log 2026-11-20).
constexpr auto kSlow = std::chrono::milliseconds(1);
std::atomic<bool> g_are_slow{false};

// mmap aligns to 4 KB only; large pages need 2 MB.
PageSpan get_huge_pages(std::size_t size_bytes) {
    const std::size_t size = round_up(size_bytes, kHuge);
    auto* const begin = static_cast<std::uint8_t*>(map_pages(size + kHuge));
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t head = round_up(address, kHuge) - address;
    if (head != 0) {
        munmap(begin, head);
    }
    if (head != kHuge) {
        munmap(begin + head + size, kHuge - head);
    }
    madvise(begin + head, size, MADV_HUGEPAGE);  // a hint: refusal only costs speed
    return {begin + head, size, Pages::Large};
}

#endif

}  // namespace

PageSpan get_pages(std::size_t size_bytes, Pages pages) {
#if defined(MADV_HUGEPAGE)
    if (pages == Pages::Large && size_bytes >= kHuge) {
        return get_huge_pages(size_bytes);
    }
#else
    static_cast<void>(pages);
#endif
    const std::size_t size = round_up(size_bytes, kPage);
    return {static_cast<std::uint8_t*>(map_pages(size)), size, Pages::Small};
}

void free_pages(PageSpan span) noexcept {
    munmap(span.begin, span.size_bytes);
}

void touch_pages(void* begin, std::size_t size_bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t first = address / kPage * kPage;
    madvise(reinterpret_cast<void*>(first), address + size_bytes - first, MADV_POPULATE_WRITE);
#else
    static_cast<void>(begin);
    static_cast<void>(size_bytes);
#endif
}

void offer_pages(void* begin, std::size_t size_bytes) noexcept {
#if defined(MADV_FREE)
    madvise(begin, round_up(size_bytes, kPage), MADV_FREE);
#else
    static_cast<void>(begin);
    static_cast<void>(size_bytes);
#endif
}

#endif

#if defined(MADV_HUGEPAGE)

void touch_large_pages(PageSpan span, std::size_t begin, std::size_t end) noexcept {
    using Clock = std::chrono::steady_clock;
    while (begin < end) {
        const std::size_t next = std::min(end, round_up(begin + 1, kHuge));
        const bool is_first = begin % kHuge == 0;  // the other parts of a page find it there
        const Clock::time_point start = is_first ? Clock::now() : Clock::time_point();
        touch_pages(span.begin + begin, next - begin);
        if (is_first && Clock::now() - start > kSlow) {
            g_are_slow.store(true, std::memory_order_relaxed);
        }
        begin = next;
    }
}

bool are_large_pages_slow() noexcept {
    return g_are_slow.load(std::memory_order_relaxed);
}

void give_up_large_pages(PageSpan span, std::size_t begin) noexcept {
    const std::size_t first = round_up(begin, kHuge);
    if (first < span.size_bytes) {
        madvise(span.begin + first, span.size_bytes - first, MADV_NOHUGEPAGE);
    }
}

#else

void touch_large_pages(PageSpan span, std::size_t begin, std::size_t end) noexcept {
    touch_pages(span.begin + begin, end - begin);
}

bool are_large_pages_slow() noexcept {
    return true;
}

void give_up_large_pages(PageSpan, std::size_t) noexcept {}

#endif

}  // namespace tokenmill
