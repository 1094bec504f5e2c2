// encode/shared: word tables that several workers read and fill together, so that each word is
// merged by one of them only, and all keep the same lines in the caches.
//
// Readers have no lock, and the loops over a batch do not know whether their tables are shared.
// That works because a place in a line is filled once and then stays as it is:
//
//   free       key 0   value 0
//   taken      key 0   value v      one worker wins the value (compare and exchange)
//   filled     key k   value v      the key comes last: a thread that sees it sees the value, too
//
// So no word is ever replaced. Words of up to 16 bytes that find no place are counted, and when
// they are many, every worker continues with tables of its own, which start with all the words of
// these; the last one keeps these lines instead, so that there are never more tables than workers.
// Longer words that find no place are kept by the worker that met them. The ids do not depend on
// who filled what.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "encode/tables.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

class SharedTables {
public:
    SharedTables(const vocab::VocabView& vocab, const TableBits& bits) noexcept
        : vocab_(vocab), bits_(bits) {}

    enum class Opened : std::uint8_t { Yes, NotYet, Never };
    // Yes: the caller may read and fill the tables until leave(). The first caller makes them; the
    // others do not wait for it, because a child process that was forked in between would wait for
    // ever.
    [[nodiscard]] Opened open() noexcept;
    // Full tables become the caller's own if nobody else has them open: it must not leave() them
    // then. If somebody has, the caller may copy the words to tables of its own, unless all others
    // do that already.
    [[nodiscard]] std::unique_ptr<WordTables> adopt() noexcept;
    [[nodiscard]] bool begin_copy() noexcept;
    void leave(bool copied) noexcept;

    // Gets the pages of the tables and puts words into them that the vocabulary knows. That takes
    // milliseconds, so all who open the tables at that time share the work, and may use the tables
    // before it is done: a word that is not there yet is merged.
    void prepare(WordTables& opened) noexcept;

    // For those that have opened them. Nobody changes the tables themselves, only their lines.
    [[nodiscard]] const WordTables& tables() const noexcept { return *tables_; }
    // Room for the ids of a value; false if there is none.
    [[nodiscard]] bool take_ids(std::size_t count, std::size_t& position) noexcept;
    [[nodiscard]] std::size_t ids_taken() const noexcept {
        return next_id_.load(std::memory_order_relaxed);
    }
    // A word found no place.
    void refuse() noexcept;

    [[nodiscard]] bool is_full() const noexcept {
        return phase_of(state_.load(std::memory_order_relaxed)) >= kFull;
    }
    // Opens them for a moment, unless they are full: then they belong to the workers that are left.
    [[nodiscard]] std::size_t size_bytes() noexcept;

private:
    // In one number, so that the last one to leave full tables can be sure that nobody opens them
    // at that moment:
    //
    //   bit   63..60                                   59..30                        29..0
    //         phase: new, in work, ready, full, gone   views that are being copied   views
    using State = std::uint64_t;
    static constexpr State kView = 1;
    static constexpr State kCopy = State{1} << 30;
    static constexpr State kPhase = State{1} << 60;
    static constexpr State kNew = 0 * kPhase;
    static constexpr State kInWork = 1 * kPhase;
    static constexpr State kReady = 2 * kPhase;
    static constexpr State kFull = 3 * kPhase;
    static constexpr State kGone = 4 * kPhase;
    [[nodiscard]] static State phase_of(State state) noexcept { return state / kPhase * kPhase; }

    static constexpr std::size_t kChunks = 8;  // of every table; 2 MiB of the largest

    [[nodiscard]] bool make() noexcept;
    static void touch_chunk(const PageBuffer& memory, std::size_t chunk) noexcept;
    void add_seeds(WordTables& opened) noexcept;
    // Opens tables that are ready.
    [[nodiscard]] bool add_view(State& state) noexcept;

    const vocab::VocabView& vocab_;
    const TableBits bits_;
    std::unique_ptr<WordTables> tables_;
    std::atomic<State> state_{kNew};
    // In a line of their own, because every range of text looks at the state.
    alignas(64) std::atomic<std::uint32_t> refused_{0};
    std::atomic<std::size_t> next_id_{0};
    std::atomic<std::size_t> next_chunk_{0};
    std::atomic<std::size_t> next_seed_{0};
};

}  // namespace tokenmill::encode
