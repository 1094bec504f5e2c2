// task_clock: what one thread does during a call of encode_batch. Internal to pipeline.
#pragma once

#include "pipeline/worker.h"

namespace tokenmill::pipeline {

// Cuts the time of a thread into stages, task by task. While it encodes, the clock of its worker
// tells the stages apart. A call with little text that nobody asks about is left to the sample of
// short calls (StageClock::begin_short).
class TaskClock {
public:
    // The time since `began` was spent on getting ready for so many bytes. Borrows the worker until
    // end().
    TaskClock(Worker& worker, const CallCounts* counts, std::size_t size, Ticks began) noexcept
        : worker_(worker),
          is_asked_(counts != nullptr),
          is_on_(kCounts && (is_asked_ || size >= kLong)),
          last_(began) {
        if (is_asked_) {
            before_ = worker.counted();
        }
        if (is_on_) {
            worker.encoder.clock.begin(is_asked_ && counts->is_exact);
            lap(WorkStage::Other);
        }
    }

    // What was done since the last border belongs to this stage.
    void lap(WorkStage stage) noexcept {
        if (is_on_) {
            worker_.encoder.counters.add_ticks(stage, step());
        }
    }
    void lap_encoding() noexcept {
        if (is_on_) {
            encoding_ += step();
        }
    }
    // From here on texts are encoded.
    void open() noexcept { worker_.encoder.clock.open(); }
    // What the thread has counted during the call, if somebody asked for it.
    [[nodiscard]] CounterValues end() noexcept {
        if (is_on_) {
            worker_.encoder.clock.settle(encoding_);
        }
        if (!is_asked_) {
            return {};
        }
        CounterValues counted = worker_.counted();
        counted -= before_;
        return counted;
    }

private:
    static constexpr std::size_t kLong = 16384;  // bytes: it takes thirty microseconds or more

    [[nodiscard]] Ticks step() noexcept {
        const Ticks now = read_ticks();
        return ticks_between(std::exchange(last_, now), now);
    }

    Worker& worker_;
    CounterValues before_;
    const bool is_asked_;
    const bool is_on_;
    Ticks last_;
    Ticks encoding_ = 0;
};

}  // namespace tokenmill::pipeline
