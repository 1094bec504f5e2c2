// plan: a batch -> tasks.
#include "pipeline/plan.h"

namespace tokenmill::pipeline {

namespace {
constexpr std::size_t kBigDocument = std::size_t{1} << 20;  // is shared between workers
}

// Small documents share a task until it is worth its overhead; a big one is read here, at once, and
// its pieces become tasks of their own.
Plan::Plan(const Model& model, std::span<const Text> texts, const Options& options)
    : model_(model), texts_(texts), options_(options) {
    Task task;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        const std::size_t most = model_.most_ids(texts_[i]);
        bound_ += most;
        // Words are numbered over a whole document.
        if (options_.threads > 1 && texts_[i].size >= kBigDocument && !options_.words) {
            close(task, i);
            plan_big(i);
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

void Plan::close(Task& task, std::size_t last) {
    if (task.first < last) {
        task.last = last;
        task.document = task.first;
        tasks_.push_back(task);
    }
    task.first = last;
    task.bound = 0;
}

// Reading is done by one thread, encoding by many. A failure is kept, because an earlier document
// of the batch may fail as well, and the first one counts.
void Plan::read_big(std::size_t document, BigDocument& big) {
    try {
        Model::Lease lease(model_);
        lease.worker().reserve(0);
        DocumentReader(model_, lease.worker(), options_, big.list).read(texts_[document], document);
    } catch (...) {
        big.failure = std::current_exception();
        big.list.clear();
    }
}

// Every task but the last leaves the document open, so that its end is counted once.
void Plan::plan_big(std::size_t document) {
    big_.push_back(std::make_unique<BigDocument>());
    BigDocument& big = *big_.back();
    read_big(document, big);
    big.list.cut(model_.split(), kTaskBytes);
    const std::vector<Item>& items = big.list.items();
    Task task;
    task.big = &big;
    task.document = document;
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
