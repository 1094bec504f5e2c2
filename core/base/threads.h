// base/threads: locks and threads, also where the system has none (WebAssembly): a thread cannot be
// started there, so nobody has to be kept out. All of our loops work with the threads they get.
#pragma once

#if defined(__wasm__) && !defined(_REENTRANT)
#define TOKENMILL_THREADS 0
#include <system_error>
#include <utility>
#else
#define TOKENMILL_THREADS 1
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

namespace tokenmill {

#if TOKENMILL_THREADS

using Mutex = std::mutex;
using Guard = std::scoped_lock<std::mutex>;
using Lock = std::unique_lock<std::mutex>;
using Condition = std::condition_variable;
using Thread = std::thread;

inline void yield_thread() noexcept {
    std::this_thread::yield();
}

// Threads that the machine can run at the same time; at least 1.
[[nodiscard]] inline unsigned hardware_threads() noexcept {
    const unsigned count = std::thread::hardware_concurrency();
    return count == 0 ? 1 : count;
}

#else

struct Mutex {};

struct [[nodiscard]] Guard {
    explicit Guard(Mutex&) noexcept {}
};

class [[nodiscard]] Lock {
public:
    explicit Lock(Mutex&) noexcept {}
    void lock() noexcept {}
    void unlock() noexcept {}
};

// There is nobody to wait for, so what is waited for must be true already.
struct Condition {
    void notify_one() noexcept {}
    void notify_all() noexcept {}
    template <typename IsTrue>
    void wait(Lock&, const IsTrue&) noexcept {}
};

// Cannot be started: the same error as of a system that has no more threads.
class Thread {
public:
    template <typename Work>
    explicit Thread(Work&&) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    void join() noexcept {}
};

inline void yield_thread() noexcept {}
[[nodiscard]] inline unsigned hardware_threads() noexcept {
    return 1;
}

#endif

}  // namespace tokenmill
