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
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Crew::run(std::size_t pieces, const Work& work) {
    const std::scoped_lock turn(turn_);
    work_ = &work;
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    const bool shared = pieces > 1 && !threads_.empty();
    if (shared) {
        const std::scoped_lock lock(mutex_);
        busy_ = threads_.size();
        ++round_;
    }
    if (shared) {
        wake_.notify_all();
    }
    take_pieces();
    if (shared) {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [&] { return busy_ == 0; });
    }
}

void Crew::take_pieces() noexcept {
    for (;;) {
        const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces_) {
            return;
        }
        (*work_)(piece);
    }
}

void Crew::serve() {
    std::uint64_t seen = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return ended_ || round_ != seen; });
            if (ended_) {
                return;
            }
            seen = round_;
        }
        take_pieces();
        const std::scoped_lock lock(mutex_);
        if (--busy_ == 0) {
            done_.notify_one();
        }
    }
}

}  // namespace tokenmill::pipeline
