// crew: threads that stay, for work that comes in many short calls. Internal to pipeline.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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
    // all calls have ended. Callers on several threads take turns.
    void run(std::size_t pieces, const Work& work);

private:
    void serve();
    void take_pieces() noexcept;

    std::mutex turn_;   // of callers
    std::mutex mutex_;  // guards what follows, except next_
    std::condition_variable wake_;
    std::condition_variable done_;
    const Work* work_ = nullptr;
    std::size_t pieces_ = 0;
    std::atomic<std::size_t> next_{0};
    std::size_t busy_ = 0;  // threads that may still take a piece
    std::uint64_t round_ = 0;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace tokenmill::pipeline
