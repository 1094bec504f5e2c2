// Memory for tables and results: page-backed, zeroed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tokenmill {

// Large pages, asked for before first touch, are for what is read all over. The first touch of one
// that the system never gave out before may take milliseconds on a virtual machine: what is written
// once, or hardly used, is better off with small ones (log 2026-11-15).
enum class Pages : std::uint8_t { Small, Large };

// Owns `size_bytes()` bytes, 64-byte aligned; zeroed unless made by take_spare(). Pages cost memory
// only once touched.
class PageBuffer {
public:
    PageBuffer() = default;
    // Throws std::bad_alloc when the address space is not to be had.
    explicit PageBuffer(std::size_t size_bytes, Pages pages = Pages::Small);
    PageBuffer(PageBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    PageBuffer(const PageBuffer&) = delete;
    PageBuffer& operator=(const PageBuffer&) = delete;
    ~PageBuffer();

    [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_; }
    template <typename T>
    [[nodiscard]] T* as() const noexcept {
        return reinterpret_cast<T*>(data_);
    }

private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

// Buffers that were given back are kept to be used again, because fresh pages cost a tenth of the
// encoding of a text that is known: of each kind one of which at most 64 MiB were touched, and some
// small ones, for as many threads. Their bytes are not zeroed.
constexpr std::size_t kMaxSpare = std::size_t{64} << 20;
constexpr std::size_t kMaxSmallSpare = std::size_t{8} << 20;
enum class Spares : std::uint8_t { Ids, Spans, Words, Texts };
[[nodiscard]] PageBuffer take_spare(std::size_t size_bytes, Spares kind);
void give_spare(PageBuffer buffer, std::size_t touched_bytes, Spares kind) noexcept;
// Touched bytes of the buffers that are kept.
[[nodiscard]] std::size_t spare_bytes() noexcept;

}  // namespace tokenmill
