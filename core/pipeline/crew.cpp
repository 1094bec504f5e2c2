// crew: threads that stay, for work that comes in many short calls.
#include "pipeline/crew.h"

#include <system_error>

namespace tokenmill::pipeline {

// If the system has no more threads, fewer will do.
Crew::Crew(std::size_t threads) {
    for (std::size_t i = 1; i < threads; ++i) {
        try {
            threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {
            break;
        }
    }
}

Crew::~Crew() {
    finish();
    {
        const Guard lock(mutex_);
        ended_ = true;
    }
    wake_.notify_all();
    for (Thread& thread : threads_) {
        thread.join();
    }
}

void Crew::start(std::size_t pieces, Work work) {
    finish();
    work_ = std::move(work);
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    if (pieces <= 1) {
        return;  // the caller does it in finish(), sooner than another thread wakes up
    }
    {
        const Guard lock(mutex_);
        open_ = true;
        ++round_;
    }
    wake_.notify_all();
}

void Crew::finish() {
    if (pieces_ == 0) {
        return;
    }
    take_pieces();
    {
        Lock lock(mutex_);
        open_ = false;  // nothing is left for those that still sleep
        done_.wait(lock, [&] { return active_ == 0; });
    }
    pieces_ = 0;
    work_ = nullptr;
}

void Crew::take_pieces() noexcept {
    for (;;) {
        const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces_) {
            return;
        }
        work_(piece);
    }
}

void Crew::serve() {
    std::uint64_t seen = 0;
    for (;;) {
        {
            Lock lock(mutex_);
            wake_.wait(lock, [&] { return ended_ || (open_ && round_ != seen); });
            if (ended_) {
                return;
            }
            seen = round_;
            ++active_;
        }
        take_pieces();
        const Guard lock(mutex_);
        if (--active_ == 0) {
            done_.notify_one();
        }
    }
}

}  // namespace tokenmill::pipeline
