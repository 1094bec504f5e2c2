// crew: threads that stay, for work that comes in many short calls. Internal to pipeline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace tokenmill::pipeline {

// Threads wait for work until the crew goes: starting them for every chunk of a pipeline would take
// a tenth of its time. They do not survive a fork, so the owner must not use it in a child.
class Crew {
public:
    using Work = std::function<void(std::size_t piece)>;

    // The thread that calls run() is one of `threads`.
    explicit Crew(std::size_t threads);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Calls `work`, which must not throw, once for every number below `pieces`, and returns when
    // all calls have ended.
    void run(std::size_t pieces, Work work) {
        start(pieces, std::move(work));
        finish();
    }
    // The same in two steps: the other threads work while the caller does something else, and it
    // joins them in finish(). Finishes what was started before. One caller at a time.
    void start(std::size_t pieces, Work work);
    void finish();

private:
    void serve();
    void take_pieces() noexcept;

    Mutex mutex_;  // guards open_ to ended_; what is before them changes while nobody works
    Condition wake_;
    Condition done_;
    Work work_;
    std::size_t pieces_ = 0;
    std::atomic<std::size_t> next_{0};
    bool open_ = false;       // may a thread that wakes up join?
    std::size_t active_ = 0;  // threads that joined
    std::uint64_t round_ = 0;
    bool ended_ = false;
    std::vector<Thread> threads_;
};

}  // namespace tokenmill::pipeline
