// base/pages: memory by whole pages, as each system hands it out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenmill {

// Large pages are for tables that are read in random order. The first touch of one that the system
// never handed out before may take milliseconds on a virtual machine, so data that is written once,
// or hardly used, is better off with small pages (log 2026-11-15).
enum class Pages : std::uint8_t { Small, Large };

struct PageSpan {
    std::uint8_t* begin = nullptr;
    std::size_t size_bytes = 0;  // at least what was asked for
};

// Zeroed pages, which cost memory only once touched (not in WebAssembly, which has no pages).
// Throws std::bad_alloc if there is no address space left. Large pages are a wish: where the system
// has none to give, or does not give them to everybody, the pages are small.
[[nodiscard]] PageSpan get_pages(std::size_t size_bytes, Pages pages);
void free_pages(PageSpan span) noexcept;

// Gets the pages of writable memory that is about to be written, many at a time; their bytes stay.
// Only speed depends on it: a system without such a call does nothing, and each page is a fault.
void touch_pages(void* begin, std::size_t size_bytes) noexcept;

// The system may take these pages whenever it needs memory, without asking: their bytes stay until
// then and are zero afterwards. `begin` is at a border of pages.
void offer_pages(void* begin, std::size_t size_bytes) noexcept;

}  // namespace tokenmill
