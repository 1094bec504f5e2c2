// base/counters: sums and differences.
#include "base/counters.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace tokenmill {

namespace {

template <std::size_t kSize, typename Do>
void combine(std::array<std::uint64_t, kSize>& to, const std::array<std::uint64_t, kSize>& from,
             const Do& with) noexcept {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), with);
}

template <std::size_t kSize>
void read(const std::array<std::atomic<std::uint64_t>, kSize>& from,
          std::array<std::uint64_t, kSize>& to) noexcept {
    std::transform(from.begin(), from.end(), to.begin(),
                   [](const auto& count) { return count.load(std::memory_order_relaxed); });
}

// Only one thread writes, so these are no read-modify-writes, which take as long as looking up a
// word.
template <std::size_t kSize>
void move_to(std::array<std::atomic<std::uint64_t>, kSize>& to,
             std::array<std::uint64_t, kSize>& from) noexcept {
    for (std::size_t i = 0; i < kSize; ++i) {
        const std::uint64_t more = std::exchange(from[i], 0);
        to[i].store(to[i].load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
}

}  // namespace

CounterValues& CounterValues::operator+=(const CounterValues& more) noexcept {
    combine(ticks, more.ticks, std::plus<>());
    combine(bytes, more.bytes, std::plus<>());
    combine(tallies, more.tallies, std::plus<>());
    return *this;
}

CounterValues& CounterValues::operator-=(const CounterValues& less) noexcept {
    combine(ticks, less.ticks, std::minus<>());
    combine(bytes, less.bytes, std::minus<>());
    combine(tallies, less.tallies, std::minus<>());
    return *this;
}

Ticks CounterValues::all_ticks() const noexcept {
    return std::accumulate(ticks.begin(), ticks.end(), Ticks{0});
}

void CallCounts::end_call(Ticks took, unsigned used, CounterValues counted) noexcept {
    counted.add_ticks(WorkStage::WaitInput, ticks_between(counted.all_ticks(), took * used));
    values += counted;
    wall += took;
    threads = std::max(threads, used);
}

void Counters::publish(PendingCounts& pending) noexcept {
    move_to(ticks_, pending.values_.ticks);
    move_to(bytes_, pending.values_.bytes);
    move_to(tallies_, pending.values_.tallies);
}

// The bytes of the words are those of the ranges that they are cut from.
CounterValues Counters::values() const noexcept {
    CounterValues now;
    read(ticks_, now.ticks);
    read(bytes_, now.bytes);
    read(tallies_, now.tallies);
    now.bytes[static_cast<std::size_t>(WorkStage::LookUp)] =
        now.bytes[static_cast<std::size_t>(WorkStage::Split)];
    return now;
}

}  // namespace tokenmill
