// base/ticks: the rate of the clock.
#include "base/ticks.h"

#include <atomic>
#include <chrono>

namespace tokenmill {

namespace {

using Clock = std::chrono::steady_clock;

struct Reading {
    Clock::time_point time = Clock::now();
    Ticks ticks = read_ticks();
};

const Reading kStart;
constexpr double kLongEnough = 0.25;  // seconds: reading both clocks takes less than a millionth
std::atomic<double> known_rate{0.0};  // once that much time has passed

}  // namespace

double seconds_per_tick() noexcept {
    if (const double known = known_rate.load(std::memory_order_relaxed); known > 0.0) {
        return known;
    }
    const Reading now;
    const double seconds = std::chrono::duration<double>(now.time - kStart.time).count();
    const auto ticks = static_cast<double>(ticks_between(kStart.ticks, now.ticks));
    if (ticks <= 0.0 || seconds <= 0.0) {
        return 1e-9;
    }
    if (seconds >= kLongEnough) {
        known_rate.store(seconds / ticks, std::memory_order_relaxed);
    }
    return seconds / ticks;
}

}  // namespace tokenmill
