// batch: many documents -> one result, on one thread or many.
#include <algorithm>
#include <deque>
#include <exception>
#include <optional>

#include "base/threads.h"
#include "pipeline/document.h"
#include "pipeline/pipeline.h"
#include "pipeline/plan.h"
#include "pipeline/results.h"
#include "pipeline/task_clock.h"
#include "pipeline/threads.h"
#include "pipeline/transcode.h"

#if TOKENMILL_SLOWED  // percent: a build that is slower, to see whether `bench` notices
#include "base/slowed.h"
#endif

namespace tokenmill::pipeline {

// One call of encode_batch. Tasks are handed out in order and finished in any order. As soon as all
// tasks before one are finished, its place in the result is known, and the thread that encoded it
// copies it there, while the ids are still in the cache of its core:
//
//   task      0     1     2     3     4     5     6     7
//             copied, or copied soon   | done, in work   | next_task_
//                                      ^ placed_
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
        const auto threads =
            static_cast<unsigned>(std::min<std::size_t>(options_.threads, tasks_.size()));
        if (result_.has_own_memory() && threads == 1 && output_.bits == 32) {
            run_in_place();
        } else {
            run_threads(threads);
        }
        Encoded encoded = result_.take();
        if (options_.counts != nullptr) {
            const Ticks took = ticks_between(began_, read_ticks());
            options_.counts->end_call(took, std::max(threads, 1U), counted_);
        }
        return encoded;
    }

private:
    // What a thread does next: with a task, or with a chunk of the result.
    enum class JobKind : std::uint8_t { Encode, Copy, Touch };
    struct Job {
        JobKind kind;
        std::size_t number;
    };

    // One thread: the worker writes where the result stays, so that nothing is copied.
    void run_in_place() {
        Model::Lease lease(model_);
        Worker& worker = lease.worker();
        TaskClock clock(worker, options_.counts, plan_.bound(), began_);
        ResultMemory own = std::exchange(worker.memory, result_.make_memory());
        try {
            worker.clear();
            model_.set_up(worker, options_);
            worker.encoder.shared = model_.shared_tables(1);
            clock.open();
            for (std::size_t i = 0; i < tasks_.size(); ++i) {
                worker.expect(plan_.bound());
                result_.touch_ahead(worker.memory, worker.written(), i);
                gather_task(worker, tasks_[i]);
            }
            worker.flush();
        } catch (...) {
            worker.memory = std::move(own);
            throw;
        }
        clock.lap_encoding();
        const std::size_t count = worker.written();
        std::swap(worker.memory, own);
        result_.adopt(std::move(own), count, worker.doc_ends);
        clock.lap(WorkStage::Emit);
        counted_ = clock.end();
    }

    void run_threads(unsigned threads) {
        model_.counters_.count_call();
        counted_ = plan_.counted();
        result_.allocate();
        finished_.resize(tasks_.size());
        const Ticks planned = ticks_between(began_, read_ticks());
        counted_.add_ticks(WorkStage::Other, ticks_between(counted_.all_ticks(), planned));
        run_on_threads(threads, [this] { work(); });
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    // What a thread keeps to itself.
    struct Own {
        Worker* worker = nullptr;
        std::deque<std::size_t> finished;  // tasks that are not copied yet
    };

    // What each thread does until nothing is left.
    void work() {
        const Ticks began = read_ticks();
        Own own;
        try {
            own.worker = lease_worker();
        } catch (...) {
            fail(0);
        }
        if (own.worker != nullptr) {
            TaskClock clock(*own.worker, options_.counts, plan_.bound(), began);
            work_with(own, clock);
            const CounterValues counted = clock.end();
            model_.give_back(own.worker);
            const Guard lock(mutex_);
            counted_ += counted;
        }
    }

    void work_with(Own& own, TaskClock& clock) {
        while (const std::optional<Job> job = next_job(own)) {
            clock.lap(WorkStage::WaitOutput);
            try {
                if (job->kind == JobKind::Encode) {
                    clock.open();
                    Finished finished = run_task(own, tasks_[job->number]);
                    clock.lap_encoding();
                    hand_in(job->number, std::move(finished));
                    own.finished.push_back(job->number);
                } else {
                    place_result(own, *job);
                }
                clock.lap(WorkStage::Emit);
            } catch (...) {
                fail(job->number);
                break;
            }
        }
        clock.lap(WorkStage::WaitOutput);
    }

    // Before the first task, because a new worker may take a while, and the tasks after one that
    // waits for it pile up. Null if no task is left: it is not needed then.
    Worker* lease_worker() {
        {
            const Guard lock(mutex_);
            if (next_task_ >= tasks_.size()) {
                return nullptr;
            }
        }
        Worker* worker = model_.take_worker();
        try {
            model_.set_up(*worker, options_);
            worker->encoder.shared = model_.shared_tables(options_.threads);
        } catch (...) {
            model_.give_back(worker);
            throw;
        }
        return worker;
    }

    // Pages and copies come first: copies free memory that the next task can use. One slow task
    // must not pile up the results of all the others, so threads wait while too many have no place.
    std::optional<Job> next_job(Own& own) {
        Lock lock(mutex_);
        const std::size_t ahead = 16 * std::size_t{options_.threads};
        const auto can_copy = [&] {
            return !own.finished.empty() && own.finished.front() < placed_;
        };
        const auto can_encode = [&] {
            return next_task_ < tasks_.size() && next_task_ < placed_ + ahead;
        };
        const auto has_ended = [&] { return own.finished.empty() && next_task_ >= tasks_.size(); };
        wake_.wait(lock, [&] { return failure_ || can_copy() || can_encode() || has_ended(); });
        if (failure_ || has_ended()) {
            return std::nullopt;
        }
        if (result_.wants_chunk(next_chunk_, placed_, tasks_.size())) {
            ++writers_;
            return Job{JobKind::Touch, next_chunk_++};
        }
        if (can_copy()) {
            ++writers_;
            const std::size_t number = own.finished.front();
            own.finished.pop_front();
            return Job{JobKind::Copy, number};
        }
        return Job{JobKind::Encode, next_task_++};
    }

    // Of several failures the one of the first task counts, as if there were one thread.
    void fail(std::size_t number) {
        const Guard lock(mutex_);
        if (!failure_ || number < failed_task_) {
            failure_ = std::current_exception();
            failed_task_ = number;
        }
        wake_.notify_all();
    }

    Finished run_task(Own& own, const Task& task) {
        Worker& worker = *own.worker;
        worker.expect(plan_.bound() / options_.threads);
        worker.clear();
        worker.reserve(task.bound);
        worker.clear();  // the room stays, and each text asks for its part of it
        gather_task(worker, task);
        worker.flush();
        Finished finished;
        finished.count = worker.written();
        finished.doc_ends = worker.doc_ends;
        if (!output_.count_only) {
            finished.memory = std::move(worker.memory);
            worker.memory = worker.take_spare_memory();
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
            if (i + 1 < texts_.size()) {
                const CodeUnits next = units_of(texts_[i + 1]);
                worker.ahead.open(next.data, next.size * next.width);
            }
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

    // Gives a place to this result and to all that waited for it.
    void hand_in(std::size_t number, Finished finished) {
        Lock lock(mutex_);
        finished_[number] = std::move(finished);
        finished_[number].is_done = true;
        while (placed_ < finished_.size() && finished_[placed_].is_done) {
            if (make_room(lock, finished_[placed_].count)) {
                finished_[placed_].begin = result_.place(finished_[placed_].count);
                ++placed_;
            }
        }
        wake_.notify_all();
    }

    // Makes the result large enough for `count` more ids, which may move it: nobody may be writing
    // to it. False if it had to wait for that: another thread may have placed more by then.
    bool make_room(Lock& lock, std::size_t count) {
        if (result_.has_room(count)) {
            return true;
        }
        if (writers_ != 0) {
            wants_room_ = true;
            wake_.wait(lock, [&] { return writers_ == 0; });
            return false;
        }
        result_.grow(count);
        return true;
    }

    // Writes to the result, while it does not move.
    void place_result(Own& own, const Job& job) {
        if (job.kind == JobKind::Touch) {
            result_.touch_chunk(job.number);
        } else {
            Finished done = std::move(finished_[job.number]);
            result_.copy(done, tasks_[job.number].document);
            if (done.memory.ids.data() != nullptr) {
                own.worker->spare.push_back(std::move(done.memory));
            }
        }
        const Guard lock(mutex_);
        if (--writers_ == 0 && wants_room_) {
            wake_.notify_all();
        }
    }

    const Ticks began_ = read_ticks();
    const Model& model_;
    std::span<const Text> texts_;
    const Options& options_;
    const Output& output_;
    const Plan plan_;
    const std::vector<Task>& tasks_;
    BatchResult result_;

    Mutex mutex_;  // guards everything below; new in every call, so forks are harmless
    Condition wake_;
    std::size_t next_task_ = 0;
    std::size_t placed_ = 0;
    std::size_t next_chunk_ = 0;
    std::size_t writers_ = 0;         // threads that write to the result at this moment
    bool wants_room_ = false;         // a thread waits, or has waited, for them
    std::vector<Finished> finished_;  // by task
    std::exception_ptr failure_;
    std::size_t failed_task_ = 0;
    CounterValues counted_;  // by all threads that have ended
};

Encoded Model::encode_batch(std::span<const Text> texts, const Options& options,
                            const Output& output) const {
    if (!output.count_only && output.bits == 16 && max_id_ > 0xFFFF) {
        throw Error(ErrorCode::IdTooLargeForU16, std::to_string(max_id_));
    }
#if TOKENMILL_SLOWED
    const Slowed slowed;
#endif
    return BatchRun(*this, texts, options, output).run();
}

// Counts piece by piece and stops at the limit, so that a long text is not encoded to its end.
std::size_t Model::count(const Text& text, const Options& options, std::size_t limit) const {
    Lease lease(*this);
    Worker& worker = lease.worker();
    worker.reserve(0);
    worker.set_stop(options.stop);
    ItemList list;
    DocumentReader(*this, worker, options, list).read(text, Error::kNowhere);
    list.cut(split_, kTaskBytes, options.stop);
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
