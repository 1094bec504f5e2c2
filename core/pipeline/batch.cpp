// batch: many documents -> one result, on one thread or many.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "pipeline/document.h"
#include "pipeline/pipeline.h"
#include "pipeline/plan.h"
#include "pipeline/results.h"

namespace tokenmill::pipeline {

// One call of encode_batch. Tasks are handed out in order, finished in any order, and appended to
// the result in order:
//
//   task      0     1     2     3     4     5     6
//             appended    | waits | in work     | next_task_
//                         ^ appended_
//
// Threads share everything below `mutex_`; a worker belongs to the thread that leased it.
class BatchRun {
public:
    BatchRun(const Model& model, std::span<const Text> texts, const Options& options,
             const Output& output)
        : model_(model),
          texts_(texts),
          options_(options),
          output_(output),
          plan_(model, texts, options),
          tasks_(plan_.tasks()),
          result_(options, output, texts.size(), plan_.bound()) {}

    Encoded run() {
        pending_.resize(tasks_.size());
        const auto threads =
            static_cast<unsigned>(std::min<std::size_t>(options_.threads, tasks_.size()));
        if (result_.has_own_memory() && threads == 1 && output_.bits == 32) {
            run_in_place();
        } else {
            run_threads(threads);
        }
        return result_.take();
    }

private:
    // One thread: the worker writes where the result stays, so that nothing is copied.
    void run_in_place() {
        Model::Lease lease(model_);
        Worker& worker = lease.worker();
        ResultMemory own = std::exchange(worker.memory, result_.make_memory());
        try {
            worker.clear();
            model_.set_spans(worker, options_);
            worker.expect(plan_.bound());
            for (const Task& task : tasks_) {
                gather_task(worker, task);
            }
            worker.flush();
        } catch (...) {
            worker.memory = std::move(own);
            throw;
        }
        const std::size_t count = worker.written();
        std::swap(worker.memory, own);
        result_.adopt(std::move(own), count, worker.doc_ends);
    }

    void run_threads(unsigned threads) {
        result_.allocate();
        std::vector<std::thread> others;
        for (unsigned i = 1; i < threads; ++i) {
            others.emplace_back([this] { work(); });
        }
        work();
        for (std::thread& other : others) {
            other.join();
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    // What each thread does until no task is left. The worker is leased at the first task: a batch
    // may have fewer tasks than threads.
    void work() {
        Worker* worker = nullptr;
        while (const std::optional<std::size_t> number = next_task()) {
            try {
                if (worker == nullptr) {
                    worker = model_.take_worker();
                    model_.set_spans(*worker, options_);
                    worker->expect(plan_.bound() / options_.threads);
                }
                hand_in(*number, run_task(*worker, tasks_[*number]));
            } catch (...) {
                fail(*number);
                break;
            }
        }
        if (worker != nullptr) {
            if (worker->memory.ids.data() == nullptr) {
                worker->memory = take_memory();
            }
            model_.give_back(worker);
        }
    }

    // Waits while too many results are pending: one slow task must not pile up all the others.
    std::optional<std::size_t> next_task() {
        std::unique_lock lock(mutex_);
        const std::size_t ahead = 4 * std::size_t{options_.threads};
        wake_.wait(lock, [&] {
            return failure_ || next_task_ >= tasks_.size() || next_task_ < appended_ + ahead;
        });
        if (failure_ || next_task_ >= tasks_.size()) {
            return std::nullopt;
        }
        return next_task_++;
    }

    // Of several failures the one of the first task counts, as if there were one thread.
    void fail(std::size_t number) {
        const std::scoped_lock lock(mutex_);
        if (!failure_ || number < failed_task_) {
            failure_ = std::current_exception();
            failed_task_ = number;
        }
        wake_.notify_all();
    }

    Finished run_task(Worker& worker, const Task& task) {
        worker.reserve(0);
        worker.clear();
        gather_task(worker, task);
        worker.flush();
        Finished finished;
        finished.count = worker.written();
        finished.doc_ends = worker.doc_ends;
        if (!output_.count_only) {
            finished.memory = std::move(worker.memory);
            worker.memory = take_memory();
        }
        worker.clear();
        return finished;
    }

    void gather_task(Worker& worker, const Task& task) {
        if (task.big != nullptr) {
            gather_items(worker, task);
            return;
        }
        BatchSink sink(worker);
        DocumentReader reader(model_, worker, options_, sink);
        for (std::size_t i = task.first; i < task.last; ++i) {
            reader.read(texts_[i], i);
            worker.end_document();
        }
    }

    // Some of the items of a big document.
    static void gather_items(Worker& worker, const Task& task) {
        if (task.big->failure) {
            std::rethrow_exception(task.big->failure);
        }
        // Only the first token of a document may be trimmed differently: 0 for the first task.
        worker.spans.text_ids = task.first;
        for (std::size_t i = task.first; i < task.last; ++i) {
            const Item& item = task.big->list.items()[i];
            if (item.is_id) {
                worker.add_id(item.id, item.span);
            } else {
                worker.add_range(item.text, item.place);
            }
        }
        if (task.ends_document) {
            worker.end_document();
        }
    }

    ResultMemory take_memory() {
        const std::scoped_lock lock(mutex_);
        if (spare_.empty()) {
            return {};
        }
        ResultMemory memory = std::move(spare_.back());
        spare_.pop_back();
        return memory;
    }

    // Appends this result and all that waited for it, unless another thread is appending: that one
    // will find it when its turn comes. The copies are made without the lock.
    void hand_in(std::size_t number, Finished finished) {
        std::unique_lock lock(mutex_);
        pending_[number] = std::move(finished);
        if (is_appending_) {
            return;
        }
        is_appending_ = true;
        while (appended_ < pending_.size()) {
            std::optional<Finished>& slot = pending_[appended_];
            if (!slot.has_value()) {
                break;
            }
            Finished next = std::move(slot.value());
            slot.reset();
            lock.unlock();
            result_.append(next);
            lock.lock();
            if (next.memory.ids.data() != nullptr) {
                spare_.push_back(std::move(next.memory));
            }
            ++appended_;
            wake_.notify_all();
        }
        is_appending_ = false;
        wake_.notify_all();
    }

    const Model& model_;
    std::span<const Text> texts_;
    const Options& options_;
    const Output& output_;
    const Plan plan_;
    const std::vector<Task>& tasks_;
    BatchResult result_;  // of the thread that is appending

    std::mutex mutex_;  // guards everything below; new in every call, so forks are harmless
    std::condition_variable wake_;
    std::size_t next_task_ = 0;
    std::size_t appended_ = 0;
    bool is_appending_ = false;
    std::vector<std::optional<Finished>> pending_;
    std::vector<ResultMemory> spare_;  // of workers, to be used again
    std::exception_ptr failure_;
    std::size_t failed_task_ = 0;
};

Encoded Model::encode_batch(std::span<const Text> texts, const Options& options,
                            const Output& output) const {
    if (!output.count_only && output.bits == 16 && max_id_ > 0xFFFF) {
        throw Error(ErrorCode::IdTooLargeForU16, std::to_string(max_id_));
    }
    return BatchRun(*this, texts, options, output).run();
}

// Counts piece by piece and stops at the limit, so that a long text is not encoded to its end.
std::size_t Model::count(const Text& text, const Options& options, std::size_t limit) const {
    Lease lease(*this);
    Worker& worker = lease.worker();
    worker.reserve(0);
    ItemList list;
    DocumentReader(*this, worker, options, list).read(text, Error::kNowhere);
    list.cut(split_, kTaskBytes);
    std::size_t total = 0;
    for (const Item& item : list.items()) {
        if (item.is_id) {
            ++total;
        } else {
            worker.clear();
            worker.add_range(item.text, item.place);
            worker.flush();
            total += worker.written();
        }
        if (total > limit) {
            return limit + 1;
        }
    }
    return total;
}

}  // namespace tokenmill::pipeline
