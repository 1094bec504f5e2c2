// counter_shelf: the counters of all workers that a model ever had. Internal to pipeline.
#pragma once

#include <atomic>
#include <memory>

#include "base/counters.h"

namespace tokenmill::pipeline {

// Workers come and go, and what they counted stays. Any thread may ask for the sum, also while
// workers are counting. Lock-free, so that a fork in the middle of anything leaves it usable.
class CounterShelf {
    struct Slot {
        alignas(64) Counters counters;
        std::atomic<bool> is_taken{true};
        Slot* next = nullptr;
    };
    struct GiveBack {
        void operator()(Slot* slot) const noexcept {
            slot->is_taken.store(false, std::memory_order_release);
        }
    };

public:
    // Counters for one worker, until it goes. Must not outlive the shelf.
    class CounterLease {
    public:
        explicit CounterLease(Slot* slot) noexcept : slot_(slot) {}
        [[nodiscard]] Counters& operator*() const noexcept { return slot_->counters; }
        [[nodiscard]] Counters* operator->() const noexcept { return &slot_->counters; }

    private:
        std::unique_ptr<Slot, GiveBack> slot_;
    };

    CounterShelf() = default;
    ~CounterShelf();
    CounterShelf(const CounterShelf&) = delete;
    CounterShelf& operator=(const CounterShelf&) = delete;

    [[nodiscard]] CounterLease take();
    // A call with several workers.
    void count_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] CounterValues total() const noexcept;

private:
    std::atomic<Slot*> first_{nullptr};
    std::atomic<std::uint64_t> calls_{0};
};

using CounterLease = CounterShelf::CounterLease;

}  // namespace tokenmill::pipeline
