// results: finished tasks, in order -> one Encoded. Internal to pipeline.
#pragma once

#include <utility>
#include <vector>

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// What a task has written. `memory` is a worker's: it goes back to the workers once copied.
struct Finished {
    ResultMemory memory;
    std::size_t count = 0;  // ids
    std::size_t begin = 0;  // its place in the result, once that is known
    std::vector<std::size_t> doc_ends;
    bool is_done = false;
};

// The result of one call. It owns the memory of the result, except for ids that go to memory of the
// caller. Several threads may copy at the same time; everything else is for one thread.
class BatchResult {
public:
    // `bound` is the most ids there can be, unless a normalizer lengthens texts.
    BatchResult(const Options& options, const Output& output, std::size_t documents,
                std::size_t bound);

    // Do the ids go to memory of our own?
    [[nodiscard]] bool has_own_memory() const noexcept {
        return !output_.count_only && output_.data == nullptr;
    }
    // Makes the memory that copy() writes to.
    void allocate();
    // Memory for the whole result that a single worker may write by itself.
    [[nodiscard]] ResultMemory make_memory();

    // The pages of memory that is new are got in chunks, each by one thread and before it is
    // copied to. Is it time for this one, with the first `placed` of so many tasks placed?
    [[nodiscard]] bool wants_chunk(std::size_t chunk, std::size_t placed,
                                   std::size_t tasks) const noexcept;
    void touch_chunk(std::size_t chunk) const noexcept;
    // The same for a single worker that writes into make_memory(), before each task: as much as a
    // task has needed so far.
    void touch_ahead(const ResultMemory& memory, std::size_t written,
                     std::size_t tasks_done) const noexcept;

    // Is there memory for so many more ids?
    [[nodiscard]] bool has_room(std::size_t more) const noexcept;
    // Makes room by moving the result: not while a copy is being made.
    void grow(std::size_t more);
    // Where the next `count` ids go.
    [[nodiscard]] std::size_t place(std::size_t count) noexcept {
        return std::exchange(result_.count, result_.count + count);
    }
    // Copies what a task has written to its place; `document` is the first that ends in it.
    void copy(const Finished& finished, std::size_t document) noexcept;
    // Adopts what a single worker wrote into make_memory().
    void adopt(ResultMemory memory, std::size_t count, const std::vector<std::size_t>& doc_ends);
    // The result; throws Error(OutputTooSmall) if the ids did not fit the caller's memory.
    [[nodiscard]] Encoded take();

private:
    [[nodiscard]] std::size_t bytes_per_id() const noexcept { return output_.bits / 8; }
    [[nodiscard]] bool has_spans() const noexcept { return options_.spans != SpanUnit::None; }
    [[nodiscard]] PageBuffer room(std::size_t item_size, Spares kind);
    void enlarge(PageBuffer& memory, std::size_t wanted, std::size_t item_size) const;
    void add_ends(const std::vector<std::size_t>& doc_ends, std::size_t begin,
                  std::size_t document) noexcept;
    void copy_ids(const Finished& finished, void* base) const noexcept;

    const Options& options_;
    const Output& output_;
    const std::size_t bound_;
    // Ids whose memory was used before. Set by make_memory().
    std::size_t touched_ = 0;
    Encoded result_;
};

}  // namespace tokenmill::pipeline
