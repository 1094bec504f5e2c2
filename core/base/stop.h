// base/stop: ends a call before its work is done, at a deadline or when another thread asks for it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/platform.h"

namespace tokenmill {

// Made for one call. Any thread may cancel it or ask whether it is due.
class Stop {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr double kNoTimeout = std::numeric_limits<double>::infinity();

    // Due in so many seconds from now. A century is never.
    explicit Stop(double timeout = kNoTimeout) : timeout_(timeout) {
        constexpr double kNever = 3e9;
        if (timeout < kNever) {
            deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout));
        }
    }

    void cancel() noexcept { is_cancelled_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_cancelled() const noexcept {
        return is_cancelled_.load(std::memory_order_relaxed);
    }
    // Reads the clock, which takes about 25 ns.
    [[nodiscard]] bool due() const noexcept {
        return is_cancelled() ||
               (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_);
    }
    // Throws Error(Cancelled) or Error(DeadlineExceeded) if it is due. Not inline: the loops that
    // ask have better things to keep in their cache lines.
    void check() const;

private:
    std::atomic<bool> is_cancelled_{false};
    Clock::time_point deadline_ = Clock::time_point::max();
    double timeout_;
};

// Null is the usual call, which nothing stops.
inline void check_stop(const Stop* stop) {
    if (unlikely(stop != nullptr)) {
        stop->check();
    }
}

// Checks once in so many bytes of a loop over text, whose rounds are shorter than a look at the
// clock. Without a stop, a round costs one comparison.
class StopPoints {
public:
    static constexpr std::size_t kBytes = std::size_t{1} << 14;

    explicit StopPoints(const Stop* stop) noexcept
        : stop_(stop), next_(stop == nullptr ? ~std::size_t{0} : 0) {}

    void pass(std::size_t place) {
        if (unlikely(place >= next_)) {
            stop_->check();
            next_ = place + kBytes;
        }
    }

private:
    const Stop* stop_;
    std::size_t next_;
};

// vector.assign(count, value), stoppable: new memory for a word of megabytes takes a while.
template <typename T>
void assign_slowly(std::vector<T>& vector, std::size_t count, const T& value, const Stop* stop) {
    vector.clear();
    vector.reserve(count);
    while (vector.size() < count) {
        vector.resize(std::min(count, vector.size() + StopPoints::kBytes), value);
        check_stop(stop);
    }
}

}  // namespace tokenmill
