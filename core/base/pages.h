// base/pages: memory by whole pages, as each system hands it out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenmill {

// Large pages are for tables that are read in random order, and for much data that is about to be
// written. What is hardly used is better off with small ones.
enum class Pages : std::uint8_t { Small, Large };

struct PageSpan {
    std::uint8_t* begin = nullptr;
    std::size_t size_bytes = 0;  // at least what was asked for
    Pages pages = Pages::Small;
};

// Zeroed pages, which cost memory only once touched (not in WebAssembly, which has no pages).
// Throws std::bad_alloc if there is no address space left. Large pages are a wish: where the system
// has none to give, or does not give them to everybody, the pages are small.
[[nodiscard]] PageSpan get_pages(std::size_t size_bytes, Pages pages);
void free_pages(PageSpan span) noexcept;

// Gets the pages of writable memory that is about to be written, many at a time; their bytes stay.
// Only speed depends on it: a system without such a call does nothing, and each page is a fault.
void touch_pages(void* begin, std::size_t size_bytes) noexcept;

// The same for a part of a span with large pages, by the clock. A large page saves three quarters
// of the time of the small ones in its place, unless the host of a virtual machine has taken its
// memory back and must find it again: then it takes eight times as long (log 2026-11-20).
void touch_large_pages(PageSpan span, std::size_t begin, std::size_t end) noexcept;
// Has there been such a slow one in this process? Small pages are better then, for what is written
// once: they are more often of memory that was used a moment ago.
[[nodiscard]] bool are_large_pages_slow() noexcept;
// What is after `begin` and has no pages yet gets small ones. All threads that touch pages wait for
// it, so once for a span is enough.
void give_up_large_pages(PageSpan span, std::size_t begin) noexcept;

// The system may take these pages whenever it needs memory, without asking: their bytes stay until
// then and are zero afterwards. `begin` is at a border of pages.
void offer_pages(void* begin, std::size_t size_bytes) noexcept;

}  // namespace tokenmill
