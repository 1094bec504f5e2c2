#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "pipeline/document.h"
#include "pipeline/pipeline.h"
#include "pipeline/plan.h"

namespace tokenmill::pipeline {

namespace {

// What a task gave, waiting for its turn.
struct Finished {
    PageBuffer ids;
    PageBuffer spans;
    PageBuffer words;
    std::size_t count = 0;
    std::vector<std::size_t> doc_ends;
};

}  // namespace

// One call of encode_batch: tasks are handed out in order, and their results laid down in order.
class BatchRun {
public:
    BatchRun(const Model& model, std::span<const Text> texts, const Options& options,
             const Output& output)
        : model_(model),
          texts_(texts),
          options_(options),
          output_(output),
          plan_(model, texts, options),
          tasks_(plan_.tasks()) {}

    Encoded run() {
        result_.offsets.reserve(texts_.size() + 1);
        result_.offsets.push_back(0);
        pending_.resize(tasks_.size());
        const auto threads =
            static_cast<unsigned>(std::min<std::size_t>(options_.threads, tasks_.size()));
        const bool own_memory = !output_.count_only && output_.data == nullptr;
        if (own_memory && threads == 1 && output_.bits == 32) {
            run_in_place();
            return std::move(result_);
        }
        if (own_memory) {
            result_.memory = result_memory(bytes_per_id(), Spares::Ids);
        }
        if (has_spans()) {
            result_.spans = result_memory(sizeof(Place), Spares::Spans);
        }
        if (options_.words) {
            result_.words = result_memory(sizeof(std::uint32_t), Spares::Words);
        }
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
        check_room();
        return std::move(result_);
    }

private:
    [[nodiscard]] std::size_t bytes_per_id() const noexcept { return output_.bits / 8; }

    [[nodiscard]] bool has_spans() const noexcept { return options_.spans != SpanUnit::None; }

    // Room for every id there can be; pages cost memory only when they are touched.
    PageBuffer result_memory(std::size_t item_size, Spares kind) const {
        std::size_t wanted = plan_.bound() + 64;
        for (;;) {
            try {
                return take_spare(wanted * item_size, kind);
            } catch (const std::bad_alloc&) {
                if (wanted < 1024) {
                    throw;
                }
                wanted /= 2;  // the bound is generous; whoever writes grows it if it must
            }
        }
    }

    // One thread: the worker writes where the result stays, nothing is laid down twice.
    void run_in_place() {
        Model::Lease lease(model_);
        Worker& worker = lease.worker();
        PageBuffer kept = std::move(worker.output);
        try {
            worker.output = result_memory(bytes_per_id(), Spares::Ids);
            worker.clear();
            model_.set_spans(worker, options_);
            if (has_spans()) {
                worker.spans.output = result_memory(sizeof(Place), Spares::Spans);
            }
            if (options_.words) {
                worker.spans.words.output = result_memory(sizeof(std::uint32_t), Spares::Words);
            }
            for (const Task& task : tasks_) {
                gather_task(worker, task);
            }
            worker.kernel.flush(worker);
        } catch (...) {
            worker.output = std::move(kept);
            throw;
        }
        result_.count = worker.written();
        for (const std::size_t end : worker.doc_ends) {
            result_.offsets.push_back(static_cast<std::int64_t>(end));
        }
        result_.memory = std::move(worker.output);
        worker.output = std::move(kept);
        result_.spans = std::move(worker.spans.output);
        result_.words = std::move(worker.spans.words.output);
    }

    void work() {
        Worker* worker = nullptr;
        for (;;) {
            std::size_t number = 0;
            {
                std::unique_lock lock(mutex_);
                const std::size_t ahead = 4 * std::size_t{options_.threads};
                wake_.wait(lock, [&] {
                    return failure_ || next_task_ >= tasks_.size() ||
                           next_task_ < laid_down_ + ahead;
                });
                if (failure_ || next_task_ >= tasks_.size()) {
                    break;
                }
                number = next_task_++;
            }
            try {
                if (worker == nullptr) {
                    worker = model_.take_worker();
                    model_.set_spans(*worker, options_);
                }
                Finished finished = run_task(*worker, tasks_[number]);
                hand_in(number, std::move(finished));
            } catch (...) {
                const std::scoped_lock lock(mutex_);
                if (!failure_ || number < failed_task_) {
                    failure_ = std::current_exception();
                    failed_task_ = number;
                }
                wake_.notify_all();
                break;
            }
        }
        if (worker != nullptr) {
            if (worker->output.data() == nullptr) {
                worker->output = take_output(outputs_);
            }
            model_.give_back(worker);
        }
    }

    Finished run_task(Worker& worker, const Task& task) {
        worker.reserve(0);
        worker.clear();
        gather_task(worker, task);
        worker.kernel.flush(worker);
        Finished finished;
        finished.count = worker.written();
        finished.doc_ends = worker.doc_ends;
        if (!output_.count_only) {
            finished.ids = std::move(worker.output);
            worker.output = take_output(outputs_);
        }
        if (has_spans()) {
            finished.spans = std::move(worker.spans.output);
            worker.spans.output = take_output(span_outputs_);
        }
        if (options_.words) {
            finished.words = std::move(worker.spans.words.output);
        }
        worker.clear();
        return finished;
    }

    void gather_task(Worker& worker, const Task& task) {
        if (task.big == nullptr) {
            DocumentReader reader(model_, worker, options_);
            for (std::size_t i = task.first; i < task.last; ++i) {
                reader.encode(texts_[i], i);
            }
        } else {
            if (task.big->failure) {
                std::rethrow_exception(task.big->failure);
            }
            // Only the first token of a document may be trimmed otherwise.
            worker.spans.text_ids = task.first;
            for (std::size_t i = task.first; i < task.last; ++i) {
                gather_item(worker, task.big->items[i]);
            }
            if (task.ends_document) {
                worker.end_document();
            }
        }
    }

    void gather_item(Worker& worker, const Item& item) {
        worker.reserve(item.is_id ? 1 : static_cast<std::size_t>(item.stop - item.begin));
        if (item.is_id) {
            if (has_spans()) {
                worker.spans.fixed.push_back(item.span);
            }
            worker.add_id(item.id);
            return;
        }
        if (has_spans()) {
            worker.open_range(item.range);
        }
        worker.kernel.encode_range(worker, item.begin, item.stop, item.end, item.readable);
    }

    PageBuffer take_output(std::vector<PageBuffer>& outputs) {
        const std::scoped_lock lock(mutex_);
        if (outputs.empty()) {
            return {};
        }
        PageBuffer buffer = std::move(outputs.back());
        outputs.pop_back();
        return buffer;
    }

    void hand_in(std::size_t number, Finished finished) {
        std::unique_lock lock(mutex_);
        pending_[number] = std::move(finished);
        if (is_laying_) {
            return;  // whoever is at it sees this one when its turn comes
        }
        is_laying_ = true;
        while (laid_down_ < pending_.size()) {
            std::optional<Finished>& slot = pending_[laid_down_];
            if (!slot.has_value()) {
                break;
            }
            Finished next = std::move(slot.value());
            slot.reset();
            lock.unlock();
            lay_down(next);
            lock.lock();
            if (next.ids.data() != nullptr) {
                outputs_.push_back(std::move(next.ids));
            }
            if (next.spans.data() != nullptr) {
                span_outputs_.push_back(std::move(next.spans));
            }
            ++laid_down_;
            wake_.notify_all();
        }
        is_laying_ = false;
        wake_.notify_all();
    }

    // Only one thread is ever here, and in the order of the tasks.
    void lay_down(const Finished& finished) {
        for (const std::size_t end : finished.doc_ends) {
            result_.offsets.push_back(static_cast<std::int64_t>(result_.count + end));
        }
        const std::size_t end = result_.count + finished.count;
        if (!output_.count_only) {
            if (output_.data == nullptr) {
                make_room(result_.memory, end, bytes_per_id());
            }
            if (output_.data == nullptr || end <= output_.capacity) {
                copy(finished);
            }
        }
        if (has_spans()) {
            make_room(result_.spans, end, sizeof(Place));
            std::memcpy(result_.spans.as<Place>() + result_.count, finished.spans.data(),
                        finished.count * sizeof(Place));
        }
        if (options_.words) {
            make_room(result_.words, end, sizeof(std::uint32_t));
            std::memcpy(result_.words.as<std::uint32_t>() + result_.count, finished.words.data(),
                        finished.count * sizeof(std::uint32_t));
        }
        result_.count = end;
    }

    void copy(const Finished& finished) {
        void* base = output_.data != nullptr ? output_.data : result_.memory.data();
        const auto* ids = finished.ids.as<std::uint32_t>();
        if (output_.bits == 32) {
            std::memcpy(static_cast<std::uint32_t*>(base) + result_.count, ids,
                        finished.count * sizeof(std::uint32_t));
            return;
        }
        auto* out = static_cast<std::uint16_t*>(base) + result_.count;
        for (std::size_t i = 0; i < finished.count; ++i) {
            out[i] = static_cast<std::uint16_t>(ids[i]);
        }
    }

    void make_room(PageBuffer& memory, std::size_t count, std::size_t item_size) const {
        if (count * item_size > memory.size_bytes()) {
            PageBuffer larger(2 * count * item_size);
            std::memcpy(larger.data(), memory.data(), result_.count * item_size);
            memory = std::move(larger);
        }
    }

    void check_room() const {
        if (output_.data != nullptr && result_.count > output_.capacity) {
            throw Error(ErrorCode::OutputTooSmall, std::to_string(result_.count));
        }
    }

    const Model& model_;
    std::span<const Text> texts_;
    const Options& options_;
    const Output& output_;
    const Plan plan_;
    const std::vector<Task>& tasks_;
    Encoded result_;

    std::mutex mutex_;  // guards everything below; made anew for every call, so forks are harmless
    std::condition_variable wake_;
    std::size_t next_task_ = 0;
    std::size_t laid_down_ = 0;
    bool is_laying_ = false;
    std::vector<std::optional<Finished>> pending_;
    std::vector<PageBuffer> outputs_;  // of workers, to be used again
    std::vector<PageBuffer> span_outputs_;
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

std::size_t Model::count(const Text& text, const Options& options, std::size_t limit) const {
    Lease lease(*this);
    Worker& worker = lease.worker();
    std::vector<std::vector<std::uint8_t>> own;
    std::vector<Item> items;
    worker.reserve(0);
    SpanSource source;
    DocumentReader(*this, worker, options).list_items(text, Error::kNowhere, own, source, items);
    cut_items(split_, items);
    std::size_t total = 0;
    for (const Item& item : items) {
        if (item.is_id) {
            ++total;
        } else {
            worker.clear();
            worker.reserve(static_cast<std::size_t>(item.stop - item.begin));
            worker.kernel.encode_range(worker, item.begin, item.stop, item.end, item.readable);
            worker.kernel.flush(worker);
            total += worker.written();
        }
        if (total > limit) {
            return limit + 1;
        }
    }
    return total;
}

}  // namespace tokenmill::pipeline
