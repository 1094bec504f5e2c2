#include "base/buffer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <new>
#include <span>

namespace tokenmill {

namespace {
struct Spare {
    PageBuffer buffer;
    std::size_t touched_bytes;
};
// Lock-free, so that a fork at any moment leaves them usable. Small buffers go to any place, larger
// ones to the first.
using Places = std::array<std::atomic<Spare*>, kMostSpares>;
std::array<Places, 5> g_spares{};
std::atomic<std::size_t> g_kept{kUsualSpares};  // places in use

std::span<std::atomic<Spare*>> places_of(Spares kind) noexcept {
    return std::span(g_spares[static_cast<std::size_t>(kind)]).first(g_kept.load());
}

// What may go to any place.
std::size_t most_of_small() noexcept {
    return g_kept.load() > kUsualSpares ? kMaxJobSpare : kMaxSmallSpare;
}

// Puts a buffer back where it was taken from, unless another has come there.
void put_back(std::atomic<Spare*>& place, std::unique_ptr<Spare> spare) noexcept {
    Spare* expected = nullptr;
    Spare* const own = spare.release();
    if (!place.compare_exchange_strong(expected, own)) {
        spare.reset(own);
    }
}

// Pages that were not needed elsewhere when the buffer is used again cost nothing then; the others
// are new and zeroed, as if they had never been touched.
void offer_to_system(const PageBuffer& buffer, std::size_t touched_bytes) noexcept {
    if (touched_bytes > kMaxHeld) {
        offer_pages(buffer.data() + kMaxHeld, touched_bytes - kMaxHeld);
    }
}

// Room for the next text as well, which is seldom of the same size: untouched pages cost nothing.
std::size_t generous(std::size_t size_bytes) noexcept {
    constexpr std::size_t kLargest = std::size_t{1} << 30;
    return size_bytes < kLargest ? std::bit_ceil(size_bytes) : size_bytes;
}
}  // namespace

PageBuffer::PageBuffer(std::size_t size_bytes, Pages pages) {
    if (size_bytes != 0) {
        span_ = get_pages(size_bytes, pages);
    }
}

PageBuffer::~PageBuffer() {
    if (span_.begin != nullptr) {
        free_pages(span_);
    }
}

void PageBuffer::touch(std::size_t begin, std::size_t size_bytes) const noexcept {
    if (span_.pages == Pages::Large) {
        touch_large_pages(span_, begin, begin + size_bytes);
    } else {
        touch_pages(span_.begin + begin, size_bytes);
    }
}

void PageBuffer::touch_to_fill(std::size_t begin, std::size_t size_bytes) const noexcept {
    if (span_.pages == Pages::Large && are_large_pages_slow() && !gave_up_.exchange(true)) {
        give_up_large_pages(span_, begin);
    }
    touch(begin, size_bytes);
}

PageBuffer take_spare(std::size_t size_bytes, Spares kind, std::size_t& touched_bytes,
                      Pages pages) {
    for (std::atomic<Spare*>& place : places_of(kind)) {
        if (place.load(std::memory_order_relaxed) == nullptr) {
            continue;  // an exchange would take the line from the other threads
        }
        const std::unique_ptr<Spare> spare(place.exchange(nullptr));
        if (spare != nullptr && spare->buffer.size_bytes() >= size_bytes) {
            touched_bytes = spare->touched_bytes;
            return std::move(spare->buffer);
        }
    }
    touched_bytes = 0;
    return PageBuffer(generous(size_bytes), pages);
}

PageBuffer take_spare(std::size_t size_bytes, Spares kind) {
    std::size_t touched_bytes = 0;
    return take_spare(size_bytes, kind, touched_bytes);
}

void give_spare(PageBuffer buffer, std::size_t touched_bytes, Spares kind) noexcept {
    if (touched_bytes > kMaxSpare || buffer.size_bytes() == 0) {
        return;
    }
    offer_to_system(buffer, touched_bytes);
    auto* spare = new (std::nothrow) Spare{std::move(buffer), touched_bytes};
    const auto places = places_of(kind);
    // The first places, where take_spare() looks first: what was used last is still in the cache.
    const std::size_t open = touched_bytes <= most_of_small() ? places.size() : 0;
    for (std::size_t i = 1; i < open; ++i) {
        Spare* expected = places[i].load(std::memory_order_relaxed);
        if (expected == nullptr && places[i].compare_exchange_strong(expected, spare)) {
            return;
        }
    }
    delete places[0].exchange(spare);
}

void keep_spares(std::size_t count) noexcept {
    g_kept = std::clamp<std::size_t>(count, 1, kMostSpares);
    for (Places& places : g_spares) {
        for (std::atomic<Spare*>& place : std::span(places).subspan(g_kept)) {
            delete place.exchange(nullptr);
        }
        for (std::atomic<Spare*>& place : std::span(places).first(g_kept).subspan(1)) {
            std::unique_ptr<Spare> spare(place.exchange(nullptr));
            if (spare != nullptr && spare->touched_bytes <= most_of_small()) {
                put_back(place, std::move(spare));
            }
        }
    }
}

std::size_t spare_bytes() noexcept {
    std::size_t total = 0;
    for (Places& places : g_spares) {
        for (std::atomic<Spare*>& place : places) {
            std::unique_ptr<Spare> spare(place.exchange(nullptr));
            if (spare != nullptr) {
                total += spare->touched_bytes;
                put_back(place, std::move(spare));
            }
        }
    }
    return total;
}

}  // namespace tokenmill
