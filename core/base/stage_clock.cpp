// base/stage_clock: which stages the loops of a thread spend their time in.
#include "base/stage_clock.h"

#include <numeric>

namespace tokenmill {

namespace {

constexpr unsigned kFirst = 16;       // batches of a call that are all timed
constexpr unsigned kEarly = 128;      // choices of a call that come quickly: two for a timed batch
constexpr unsigned kFirstCalls = 64;  // samples of short calls that come quickly
constexpr double kLongLap = 5e-4;     // seconds: no batch takes that long in one stage
constexpr Ticks kShortLap = 32;       // parts of it: no short call does

}  // namespace

StageClock::StageClock(PendingCounts& counters) noexcept
    : counters_(counters), long_lap_(static_cast<Ticks>(kLongLap / seconds_per_tick())) {}

void StageClock::begin(bool exact) noexcept {
    reset();
    call_ = TimedCall::Long;
    until_choice_ = 1;
    is_exact_ = exact;
    is_on_ = kCounts;
}

void StageClock::begin_sample() noexcept {
    reset();
    call_ = TimedCall::Short;
    const bool is_early = samples_ < kFirstCalls;
    stands_for_ = is_early ? kOneCallIn : kOneCallLaterIn;
    until_sample_ = ++samples_ < kFirstCalls ? kOneCallIn : kOneCallLaterIn;
    is_on_ = true;
    last_ = read_ticks();
}

void StageClock::reset() noexcept {
    sums_.fill(0);
    aside_ = 0;
    choices_ = 0;
    stands_for_ = 1;
    until_choice_ = kManyBatches;
    call_ = TimedCall::Untimed;
    is_exact_ = false;
    is_on_ = false;
}

void StageClock::take_lap(WorkStage stage) noexcept {
    const Ticks now = read_ticks();
    const Ticks took = ticks_between(last_, now);
    const Ticks longest = call_ == TimedCall::Short ? long_lap_ / kShortLap : long_lap_;
    sums_[static_cast<std::size_t>(stage)] += took < longest ? took * stands_for_ : took;
    last_ = now;
}

// All batches of a short call are timed, or none.
bool StageClock::choose_next() noexcept {
    if (call_ != TimedCall::Long) {
        until_choice_ = kManyBatches;
        return true;
    }
    ++choices_;
    const bool is_time = choices_ % kFirst == 0;
    if (is_exact_ || choices_ < kFirst) {
        until_choice_ = 1;
        return is_time;
    }
    // Batch 16 is timed, the next seven are not, and so on.
    const bool was_on = is_on_;
    const unsigned one_in = choices_ < kEarly ? kOneBatchIn : kOneBatchLaterIn;
    is_on_ = choices_ == kFirst || !was_on;
    stands_for_ = is_on_ ? one_in : 1;
    until_choice_ = is_on_ ? 1 : one_in - 1;
    if (is_on_ && !was_on) {
        last_ = read_ticks();
    }
    return is_time;
}

void StageClock::set_aside(WorkStage stage, Ticks begin) noexcept {
    const Ticks now = read_ticks();
    counters_.add_ticks(stage, ticks_between(begin, now));
    aside_ += ticks_between(begin, now);
    last_ = now;
}

void StageClock::settle(Ticks total) noexcept {
    const Ticks rest = ticks_between(aside_, total);
    const Ticks sum = std::accumulate(sums_.begin(), sums_.end(), Ticks{0});
    if (sum == 0) {
        counters_.add_ticks(WorkStage::Other, rest);
    } else {
        const double scale = static_cast<double>(rest) / static_cast<double>(sum);
        for (std::size_t i = 0; i < kStages; ++i) {
            counters_.add_ticks(static_cast<WorkStage>(i),
                                static_cast<Ticks>(static_cast<double>(sums_[i]) * scale));
        }
    }
    reset();
}

void StageClock::settle_as_is() noexcept {
    for (std::size_t i = 0; i < kStages; ++i) {
        counters_.add_ticks(static_cast<WorkStage>(i), sums_[i]);
    }
    reset();
}

}  // namespace tokenmill
