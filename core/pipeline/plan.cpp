// plan: a batch -> tasks.
#include "pipeline/plan.h"

#include <algorithm>
#include <atomic>

#include "pipeline/threads.h"

namespace tokenmill::pipeline {

// Small documents share a task until it is worth its overhead; the pieces of a big one become tasks
// of their own.
Plan::Plan(const Model& model, std::span<const Text> texts, const Options& options)
    : model_(model), texts_(texts), options_(options) {
    read_all_big();
    auto next_big = big_.begin();
    Task task;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        const std::size_t most = model_.most_ids(texts_[i]);
        bound_ += most;
        if (is_big(i)) {
            close(task, i);
            plan_big(**next_big++);
            task.first = i + 1;
            bytes = 0;
            continue;
        }
        task.bound += most;
        bytes += texts_[i].size;
        if (bytes >= kTaskBytes) {
            close(task, i + 1);
            bytes = 0;
        }
    }
    close(task, texts_.size());
}

// Words are numbered over a whole document.
bool Plan::is_big(std::size_t document) const noexcept {
    return options_.threads > 1 && texts_[document].size >= kBigDocument && !options_.words;
}

void Plan::close(Task& task, std::size_t last) {
    if (task.first < last) {
        task.last = last;
        task.document = task.first;
        tasks_.push_back(task);
    }
    task.first = last;
    task.bound = 0;
}

// A document is read by one thread and encoded by many. If there are several, each thread reads
// one after the other.
void Plan::read_all_big() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        if (is_big(i)) {
            big_.push_back(std::make_unique<BigDocument>());
            big_.back()->document = i;
        }
    }
    std::atomic<std::size_t> next{0};
    run_on_threads(std::min<std::size_t>(options_.threads, big_.size()), [&] {
        for (std::size_t i = next++; i < big_.size(); i = next++) {
            read_big(*big_[i]);
        }
    });
}

// A failure is kept, because an earlier document of the batch may fail as well, and the first one
// counts.
void Plan::read_big(BigDocument& big) const {
    try {
        Model::Lease lease(model_, LeaseFor::Part);
        Worker& worker = lease.worker();
        worker.reserve(0);
        worker.set_stop(options_.stop);
        const CounterValues before = worker.counted();
        DocumentReader(model_, worker, options_, big.list).read(texts_[big.document], big.document);
        big.list.cut(model_.split(), kTaskBytes, options_.stop);
        big.counted = worker.counted();
        big.counted -= before;
    } catch (...) {
        big.failure = std::current_exception();
        big.list.clear();
    }
}

CounterValues Plan::counted() const noexcept {
    CounterValues sum;
    for (const auto& big : big_) {
        sum += big->counted;
    }
    return sum;
}

// Every task but the last leaves the document open, so that its end is counted once.
void Plan::plan_big(const BigDocument& big) {
    const std::vector<Item>& items = big.list.items();
    Task task;
    task.big = &big;
    task.document = big.document;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        bytes += items[i].size() + 16;
        task.bound += items[i].size() + 1;
        if (bytes >= kTaskBytes) {
            task.last = i + 1;
            task.ends_document = false;
            tasks_.push_back(task);
            task.first = i + 1;
            task.bound = 0;
            bytes = 0;
        }
    }
    task.last = items.size();
    task.ends_document = true;
    tasks_.push_back(task);
}

}  // namespace tokenmill::pipeline
