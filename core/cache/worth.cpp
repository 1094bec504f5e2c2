// worth: does looking up pay?
#include "cache/worth.h"

#include <algorithm>

namespace tokenmill::cache {

void EngineRate::learn(std::size_t bytes, Seconds took) noexcept {
    if (bytes == 0 || took <= 0) {
        return;
    }
    const Seconds sample = took / static_cast<double>(bytes);
    const Seconds old = per_byte();
    constexpr double kDown = 0.25;
    constexpr double kUp = 0.0625;
    const double share = sample < old ? kDown : kUp;
    per_byte_.store(old == 0 ? sample : old + (sample - old) * share, std::memory_order_relaxed);
}

bool Worth::asks() noexcept {
    std::uint32_t left = pause_.load(std::memory_order_relaxed);
    while (left != 0) {
        if (pause_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

void Worth::add(std::uint32_t lookups, Seconds net) noexcept {
    constexpr double kNanoseconds = 1e9;
    const auto net_ns = static_cast<std::int64_t>(net * kNanoseconds);
    total_ns_.fetch_add(net_ns, std::memory_order_relaxed);
    window_ns_.fetch_add(net_ns, std::memory_order_relaxed);
    if (window_.fetch_add(lookups, std::memory_order_relaxed) + lookups < kWindow) {
        return;
    }
    window_.store(0, std::memory_order_relaxed);
    if (window_ns_.exchange(0, std::memory_order_relaxed) >= 0) {
        next_pause_.store(kFirstPause, std::memory_order_relaxed);
        return;
    }
    const std::uint32_t pause = next_pause_.load(std::memory_order_relaxed);
    next_pause_.store(std::min(2 * pause, kLongestPause), std::memory_order_relaxed);
    pause_.store(pause, std::memory_order_relaxed);
    switched_off_.fetch_add(1, std::memory_order_relaxed);
}

Seconds Worth::saved() const noexcept {
    return static_cast<double>(total_ns_.load(std::memory_order_relaxed)) * 1e-9;
}

}  // namespace tokenmill::cache
