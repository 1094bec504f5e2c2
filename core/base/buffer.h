// Memory for tables and results: page-backed, zeroed, with huge pages asked for before first touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tokenmill {

// Owns `size_bytes()` zeroed bytes, 64-byte aligned. Pages cost memory only once touched.
class PageBuffer {
public:
    PageBuffer() = default;
    // Throws std::bad_alloc when the address space is not to be had.
    explicit PageBuffer(std::size_t size_bytes);
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

    // Gives the pages behind `used_bytes` back to the system.
    void shrink(std::size_t used_bytes) noexcept;

private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace tokenmill
