// threads: the same work on several threads, which end with the call. Internal to pipeline.
#pragma once

#include <cstddef>
#include <system_error>
#include <vector>

#include "base/threads.h"

namespace tokenmill::pipeline {

// Calls `work`, which must not throw, on this thread and on `threads` - 1 others, and waits for all
// of them. If the system has no more threads, fewer will do.
template <typename Work>
void run_on_threads(std::size_t threads, const Work& work) {
    std::vector<Thread> others;
    others.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i) {
        try {
            others.emplace_back([&work] { work(); });
        } catch (const std::system_error&) {
            break;
        }
    }
    work();
    for (Thread& other : others) {
        other.join();
    }
}

}  // namespace tokenmill::pipeline
