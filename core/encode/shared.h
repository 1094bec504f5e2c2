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
// So no word is ever replaced. Words that find no place are counted, and when they are many, every
// worker continues with tables of its own, which start with all the words of these. The ids do not
// depend on who filled what.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "encode/tables.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

class SharedTables {
public:
    SharedTables(const vocab::VocabView& vocab, const TableBits& bits) noexcept
        : vocab_(vocab), bits_(bits) {}

    enum class Opened : std::uint8_t { Yes, NotYet, Never };
    // Yes: the caller may read and fill the tables until leave(). The first caller makes them,
    // which takes milliseconds; the others do not wait for it, because a child process that was
    // forked in between would wait for ever.
    [[nodiscard]] Opened open() noexcept;
    void leave() noexcept;

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
        return state_.load(std::memory_order_relaxed) >= State::Full;
    }
    [[nodiscard]] std::size_t size_bytes() const noexcept;

private:
    enum class State : std::uint8_t { New, InWork, Ready, Full, Gone };

    [[nodiscard]] bool make() noexcept;

    const vocab::VocabView& vocab_;
    const TableBits bits_;
    std::optional<WordTables> tables_;
    std::atomic<State> state_{State::New};
    std::atomic<std::int32_t> views_{0};
    std::atomic<std::uint32_t> refused_{0};
    std::atomic<std::size_t> next_id_{0};
};

}  // namespace tokenmill::encode
