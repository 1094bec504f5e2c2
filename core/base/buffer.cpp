#include "base/buffer.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace tokenmill {

namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHuge = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}
// Lock-free, so that a fork at any moment leaves it usable.
struct Spare {
    PageBuffer buffer;
    std::size_t touched_bytes;
};
std::atomic<Spare*> g_spare[3] = {nullptr, nullptr, nullptr};

std::atomic<Spare*>& spare_of(Spares kind) noexcept {
    return g_spare[static_cast<std::size_t>(kind)];
}
}  // namespace

PageBuffer::PageBuffer(std::size_t size_bytes, Pages pages) {
    if (size_bytes == 0) {
        return;
    }
    const bool huge = pages == Pages::Large && size_bytes >= kHuge;
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

PageBuffer take_spare(std::size_t size_bytes, Spares kind) {
    if (Spare* spare = spare_of(kind).exchange(nullptr)) {
        PageBuffer buffer = std::move(spare->buffer);
        delete spare;
        if (buffer.size_bytes() >= size_bytes) {
            return buffer;
        }
    }
    return PageBuffer(size_bytes);
}

void give_spare(PageBuffer buffer, std::size_t touched_bytes, Spares kind) noexcept {
    if (touched_bytes <= kMaxSpare && buffer.size_bytes() != 0) {
        delete spare_of(kind).exchange(new (std::nothrow) Spare{std::move(buffer), touched_bytes});
    }
}

std::size_t spare_bytes() noexcept {
    std::size_t total = 0;
    for (auto& slot : g_spare) {
        Spare* spare = slot.exchange(nullptr);
        total += spare == nullptr ? 0 : spare->touched_bytes;
        Spare* expected = nullptr;
        if (spare != nullptr && !slot.compare_exchange_strong(expected, spare)) {
            delete spare;
        }
    }
    return total;
}

}  // namespace tokenmill
