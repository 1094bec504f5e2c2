// How long the steps of a call take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tokenmill::device {

// Adds the time since the last step to one.
class Stopwatch {
public:
    void lap(std::atomic<std::uint64_t>& step) {
        const Clock::time_point now = Clock::now();
        const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_);
        step.fetch_add(static_cast<std::uint64_t>(passed.count()), std::memory_order_relaxed);
        last_ = now;
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_ = Clock::now();
};

}  // namespace tokenmill::device
