#include "base/buffer.h"

#include <sys/mman.h>

#include <new>

namespace tokenmill {

namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHuge = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }
}  // namespace

PageBuffer::PageBuffer(std::size_t size_bytes) {
    if (size_bytes == 0) {
        return;
    }
    const bool huge = size_bytes >= kHuge;
    const std::size_t wanted = round_up(size_bytes, huge ? kHuge : kPage);
    const std::size_t slack = huge ? kHuge : 0;  // mmap aligns to 4 KB only; huge pages need 2 MB
    void* raw = mmap(nullptr, wanted + slack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        throw std::bad_alloc();
    }
    auto* begin = static_cast<std::uint8_t*>(raw);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t head = huge ? round_up(address, kHuge) - address : 0;
    if (head != 0) {
        munmap(begin, head);
    }
    if (slack != head) {
        munmap(begin + head + wanted, slack - head);
    }
    data_ = begin + head;
    size_ = wanted;
    if (huge) {
        madvise(data_, size_, MADV_HUGEPAGE);  // a hint: refusal only costs speed
    }
}

PageBuffer::~PageBuffer() {
    if (data_ != nullptr) {
        munmap(data_, size_);
    }
}

void PageBuffer::shrink(std::size_t used_bytes) noexcept {
    const std::size_t keep = round_up(used_bytes == 0 ? 1 : used_bytes, kPage);
    if (keep < size_) {
        munmap(data_ + keep, size_ - keep);
        size_ = keep;
    }
}

}  // namespace tokenmill
