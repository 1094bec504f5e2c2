// base/stage_clock: which stages the loops of a thread spend their time in.
//
// Stages alternate every few microseconds, so reading the clock at each border would take more than
// a percent of the time. Some batches are timed, and stand for the others:
//
//   batch    0 1 2 .. 15 16 17 18 .. 23 24 ..      of a call
//   timed    x x x .. x  x              x          one in eight from the 17th on, counted as eight
//
// After some 70 timed batches it is one in 61: a timed batch pays for wrong guesses of branches and
// for code that is in no cache, too.
//
// In the end the shares of the stages are applied to the time that the whole call took, so the sum
// of all stages is exact. What takes long at a time is timed by itself (LongStep).
//
// Of short calls one in 61 is timed at first, later one in 1021, and stands for the others: to time
// one takes half as long as the call. Primes, so that a caller with a rhythm meets all its texts.
// A lap that takes long, because the thread was put aside in it, stands for itself alone.
#pragma once

#include <array>

#include "base/counters.h"
#include "base/platform.h"

namespace tokenmill {

class StageClock {
public:
    explicit StageClock(PendingCounts& counters) noexcept;

    // A call with many batches begins. `exact`: time all of them.
    void begin(bool exact) noexcept;
    // Work of the call begins or continues.
    void open() noexcept {
        if (is_on_) {
            last_ = read_ticks();
        }
    }
    // What was done since the last border belongs to this stage.
    void lap(WorkStage stage) noexcept {
        if (kCounts && unlikely(is_on_)) {
            take_lap(stage);
        }
    }
    // A batch is written: is the next one timed? Returns now and then that it is time to publish.
    bool end_batch() noexcept { return kCounts && unlikely(--until_choice_ == 0) && choose_next(); }
    // The work of the call took so long.
    void settle(Ticks total) noexcept;

    // A short call begins, or ends.
    void begin_short() noexcept {
        counters_.add(Tally::Calls, 1);
        if (kCounts && unlikely(--until_sample_ == 0)) {
            begin_sample();
        }
    }
    void end_short() noexcept {
        if (kCounts && unlikely(call_ != TimedCall::Untimed)) {
            settle_as_is();
        }
    }
    // Forgets a call that did not end.
    void reset() noexcept;

private:
    friend class LongStep;
    enum class TimedCall : std::uint8_t { Untimed, Short, Long };
    static constexpr unsigned kOneBatchIn = 8;
    static constexpr unsigned kOneBatchLaterIn = 61;
    static constexpr unsigned kManyBatches = 4096;  // of short calls: nothing is chosen in them
    static constexpr unsigned kOneCallIn = 61;
    static constexpr unsigned kOneCallLaterIn = 1021;

    void begin_sample() noexcept;
    bool choose_next() noexcept;
    void take_lap(WorkStage stage) noexcept;
    void settle_as_is() noexcept;
    void set_aside(WorkStage stage, Ticks begin) noexcept;

    PendingCounts& counters_;
    const Ticks long_lap_;
    std::array<Ticks, kStages> sums_{};  // of batches that were timed
    Ticks last_ = 0;
    Ticks aside_ = 0;  // time of this call that is counted already
    unsigned stands_for_ = 1;
    unsigned choices_ = 0;  // in this call
    unsigned until_choice_ = kManyBatches;
    unsigned until_sample_ = kOneCallIn;
    unsigned samples_ = 0;
    TimedCall call_ = TimedCall::Untimed;
    bool is_exact_ = false;
    bool is_on_ = false;
};

// Times what is done while it lives: a step so long that it must not stand for others.
class LongStep {
public:
    LongStep(StageClock& clock, WorkStage stage) noexcept : clock_(clock), stage_(stage) {
        clock.lap(stage);
        begin_ = read_ticks();
    }
    ~LongStep() { clock_.set_aside(stage_, begin_); }
    LongStep(const LongStep&) = delete;
    LongStep& operator=(const LongStep&) = delete;

private:
    StageClock& clock_;
    Ticks begin_ = 0;
    WorkStage stage_;
};

template <typename Do>
TOKENMILL_COLD decltype(auto) do_long_step(StageClock& clock, WorkStage stage, const Do& step) {
    const LongStep timed(clock, stage);
    return step();
}

// Does a step on `size` bytes, and times it by itself if they are many. A short one pays for the
// comparison alone: an object that may have to be destroyed costs as much as all its counters.
template <typename Do>
decltype(auto) do_step(StageClock& clock, WorkStage stage, std::size_t size, const Do& step) {
    constexpr std::size_t kLong = 8192;
    if (kCounts && unlikely(size >= kLong)) {
        return do_long_step(clock, stage, step);
    }
    return step();
}

}  // namespace tokenmill
