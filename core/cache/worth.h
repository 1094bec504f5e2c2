// worth: does looking up pay? Seconds of encoding avoided, less the seconds that looking up and
// storing took. Where that is negative over a window, it says no for a while. Internal to cache.
#pragma once

#include <array>
#include <atomic>
#include <chrono>

#include "base/types.h"

namespace tokenmill::cache {

using Seconds = double;

// Reads the clock, which takes about 25 ns.
[[nodiscard]] inline Seconds now() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

// How long the engine takes for a byte: learnt from the segments that it encodes.
class EngineRate {
public:
    [[nodiscard]] bool is_known() const noexcept { return per_byte() > 0; }
    [[nodiscard]] Seconds per_byte() const noexcept {
        return per_byte_.load(std::memory_order_relaxed);
    }
    // A first text fills tables and a thread may lose its core, so the engine seems slower now and
    // then, never faster: shorter times count four times as much. Too low is the safe side.
    void learn(std::size_t bytes, Seconds took) noexcept;

private:
    std::atomic<Seconds> per_byte_{0};
};

// Threads add to it without a lock; a window may lose a few calls that end at the same time.
class Worth {
public:
    // A window is so many look-ups. The first pause is so many calls; it doubles while windows
    // stay negative, up to the longest, and each pause ends with one window of trial.
    static constexpr std::uint32_t kWindow = 256;
    static constexpr std::uint32_t kFirstPause = 4096;
    static constexpr std::uint32_t kLongestPause = 1U << 20;

    // May this call look up? Counts the calls of a pause.
    [[nodiscard]] bool asks() noexcept;
    [[nodiscard]] bool is_on() const noexcept {
        return pause_.load(std::memory_order_relaxed) == 0;
    }
    // What look-ups brought, less what they took.
    void add(std::uint32_t lookups, Seconds net) noexcept;
    [[nodiscard]] Seconds saved() const noexcept;
    // How often it was switched off.
    [[nodiscard]] std::uint64_t switched_off() const noexcept {
        return switched_off_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::int64_t> total_ns_{0};
    std::atomic<std::int64_t> window_ns_{0};
    std::atomic<std::uint32_t> window_{0};
    std::atomic<std::uint32_t> pause_{0};  // calls that are left of it
    std::atomic<std::uint32_t> next_pause_{kFirstPause};
    std::atomic<std::uint64_t> switched_off_{0};
};

}  // namespace tokenmill::cache
