// counter_shelf: the counters of all workers that a model ever had.
#include "pipeline/counter_shelf.h"

namespace tokenmill::pipeline {

CounterShelf::~CounterShelf() {
    for (const Slot* at = first_.load(); at != nullptr;) {
        const std::unique_ptr<const Slot> gone(at);
        at = gone->next;
    }
}

CounterShelf::CounterLease CounterShelf::take() {
    for (Slot* slot = first_.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
        if (!slot->is_taken.exchange(true, std::memory_order_acquire)) {
            return CounterLease(slot);
        }
    }
    auto* const slot = new Slot;
    slot->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(slot->next, slot, std::memory_order_release)) {
    }
    return CounterLease(slot);
}

CounterValues CounterShelf::total() const noexcept {
    CounterValues sum;
    for (const Slot* slot = first_.load(std::memory_order_acquire); slot != nullptr;
         slot = slot->next) {
        sum += slot->counters.values();
    }
    sum.tallies[static_cast<std::size_t>(Tally::Calls)] +=
        kCounts ? calls_.load(std::memory_order_relaxed) : 0;
    return sum;
}

}  // namespace tokenmill::pipeline
