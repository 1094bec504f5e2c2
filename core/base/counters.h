// base/counters: what the engine did and how long each stage of it took. Always on, so adding to a
// counter is one addition to a plain number (PendingCounts). Each thread has its own, and publishes
// them now and then, where all threads can read them (Counters).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ticks.h"

#ifndef TOKENMILL_COUNTERS
#define TOKENMILL_COUNTERS 1  // 0 is for measuring what counting costs
#endif

namespace tokenmill {

constexpr bool kCounts = TOKENMILL_COUNTERS != 0;

// In the order in which a text meets them; nothing is done in the last two.
enum class WorkStage : std::uint8_t {
    Parse,      // lines of a file -> texts
    Normalize,  // texts -> ranges: decoded, checked, normalized, cut at added tokens
    Split,      // ranges -> words
    LookUp,     // words that tables know
    Merge,      // words that they do not
    Emit,       // ids to their place
    Other,
    WaitInput,   // no work was left for a thread, or it was not started yet
    WaitOutput,  // a thread was too far ahead of the others
};
constexpr std::size_t kStages = 9;

// A word is looked up once. One of the tables knows it, or it is merged.
enum class Tally : std::uint8_t {
    Calls,  // of the interface: with one text or with many
    Documents,
    Hit8,           // the table of words of 1 to 8 bytes knew it
    Hit16,          // 9 to 16
    Hit32,          // 17 to 32
    HitLong,        // longer, or with more ids than fit elsewhere
    HitBatch,       // a word of the same batch, which no table had yet, is the same
    HitVocabulary,  // a token that merging cannot build, or characters that are in no token
    Merged,
    Evicted,  // lost its place in a table to another word
};
constexpr std::size_t kTallies = 10;

// Numbers, at one moment or of one call.
struct CounterValues {
    std::array<std::uint64_t, kStages> ticks{};
    std::array<std::uint64_t, kStages> bytes{};
    std::array<std::uint64_t, kTallies> tallies{};

    CounterValues& operator+=(const CounterValues& more) noexcept;
    CounterValues& operator-=(const CounterValues& less) noexcept;
    [[nodiscard]] Ticks all_ticks() const noexcept;
    void add_ticks(WorkStage stage, Ticks more) noexcept {
        ticks[static_cast<std::size_t>(stage)] += more;
    }
    void add_bytes(WorkStage stage, std::uint64_t more) noexcept {
        bytes[static_cast<std::size_t>(stage)] += more;
    }
};

// What one call has counted, on all its threads. Calls may add to the same one, one after another.
struct CallCounts {
    CounterValues values;
    Ticks wall = 0;
    unsigned threads = 0;   // the most of any call
    bool is_exact = false;  // asked for: every batch is timed, not a sample of them

    // A call took so long on so many threads: what no stage accounts for was waiting for work.
    void end_call(Ticks took, unsigned used, CounterValues counted) noexcept;
};

// What one thread has counted and not published yet. Nobody else reads it.
class PendingCounts {
public:
    void add_ticks(WorkStage stage, Ticks more) noexcept {
        if constexpr (kCounts) {
            values_.ticks[static_cast<std::size_t>(stage)] += more;
        }
    }
    void add_bytes(WorkStage stage, std::uint64_t more) noexcept {
        if constexpr (kCounts) {
            values_.bytes[static_cast<std::size_t>(stage)] += more;
        }
    }
    void add(Tally tally, std::uint64_t more) noexcept {
        if constexpr (kCounts) {
            values_.tallies[static_cast<std::size_t>(tally)] += more;
        }
    }
    // Takes back some that were counted.
    void take_back(Tally tally, std::uint64_t less) noexcept { add(tally, 0 - less); }
    [[nodiscard]] std::uint64_t get(Tally tally) const noexcept {
        return values_.tallies[static_cast<std::size_t>(tally)];
    }

private:
    friend class Counters;
    CounterValues values_;
};

// The published counters of one thread at a time; any thread may read them.
class Counters {
public:
    void publish(PendingCounts& pending) noexcept;
    [[nodiscard]] CounterValues values() const noexcept;

private:
    using Count = std::atomic<std::uint64_t>;
    std::array<Count, kStages> ticks_{};
    std::array<Count, kStages> bytes_{};
    std::array<Count, kTallies> tallies_{};
};

}  // namespace tokenmill
