// base/buffer: memory for tables and results, page-backed and zeroed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/pages.h"

namespace tokenmill {

// Owns `size_bytes()` bytes, 64-byte aligned; zeroed unless made by take_spare(). Pages cost memory
// only once touched.
class PageBuffer {
public:
    PageBuffer() = default;
    // Throws std::bad_alloc if there is no address space left.
    explicit PageBuffer(std::size_t size_bytes, Pages pages = Pages::Small);
    PageBuffer(PageBuffer&& other) noexcept
        : span_(std::exchange(other.span_, {})), gave_up_(other.gave_up_.load()) {}
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        std::swap(span_, other.span_);
        gave_up_ = other.gave_up_.exchange(gave_up_);
        return *this;
    }
    PageBuffer(const PageBuffer&) = delete;
    PageBuffer& operator=(const PageBuffer&) = delete;
    ~PageBuffer();

    [[nodiscard]] std::uint8_t* data() const noexcept { return span_.begin; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return span_.size_bytes; }
    [[nodiscard]] PageSpan span() const noexcept { return span_; }
    template <typename T>
    [[nodiscard]] T* as() const noexcept {
        return reinterpret_cast<T*>(data());
    }
    // Gets the pages of a part that is about to be written; only speed depends on it. Several
    // threads may touch parts of their own.
    void touch(std::size_t begin, std::size_t size_bytes) const noexcept;
    // The same for what is written once, from the front: without large pages if they are slow.
    void touch_to_fill(std::size_t begin, std::size_t size_bytes) const noexcept;

private:
    PageSpan span_;
    mutable std::atomic<bool> gave_up_{false};  // large pages
};

// Returned buffers are kept for reuse, because fresh pages cost a tenth of the time to encode a
// text whose words are known. Of each kind one buffer is kept with at most 512 MiB touched, and a
// few small ones for other threads: of up to 8 MiB, or 16 while a job asks for many of them,
// because the ids of a block may be longer than its text. Their bytes are not zeroed. The system
// may take what is after the first 64 MiB whenever it needs memory, without asking.
constexpr std::size_t kMaxSpare = std::size_t{512} << 20;
constexpr std::size_t kMaxHeld = std::size_t{64} << 20;
constexpr std::size_t kMaxSmallSpare = std::size_t{8} << 20;
constexpr std::size_t kMaxJobSpare = std::size_t{16} << 20;
enum class Spares : std::uint8_t { Ids, Spans, Words, Texts, Framed };
[[nodiscard]] PageBuffer take_spare(std::size_t size_bytes, Spares kind);
// The first `touched_bytes` of what take_spare() returns have pages already. A new one has `pages`.
[[nodiscard]] PageBuffer take_spare(std::size_t size_bytes, Spares kind, std::size_t& touched_bytes,
                                    Pages pages = Pages::Small);
void give_spare(PageBuffer buffer, std::size_t touched_bytes, Spares kind) noexcept;
// Sets how many buffers of each kind are kept, 4 at first; a job with many threads needs more.
// Those beyond the new number are freed, and those that are too large for it.
constexpr std::size_t kUsualSpares = 4;
constexpr std::size_t kMostSpares = 512;
void keep_spares(std::size_t count) noexcept;
// Touched bytes of the buffers that are kept.
[[nodiscard]] std::size_t spare_bytes() noexcept;

}  // namespace tokenmill
