#include "base/pages.h"

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
    return {static_cast<std::uint8_t*>(begin), size};
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
    return {static_cast<std::uint8_t*>(begin), size};
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
    return {begin + head, size};
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
    return {static_cast<std::uint8_t*>(map_pages(size)), size};
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

}  // namespace tokenmill
