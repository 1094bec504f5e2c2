// results: finished tasks, in order -> one Encoded. Internal to pipeline.
#pragma once

#include <vector>

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// What a task has written. `memory` is a worker's: it goes back to the workers once copied.
struct Finished {
    ResultMemory memory;
    std::size_t count = 0;  // ids
    std::vector<std::size_t> doc_ends;
};

// The result of one call. It owns the memory of the result, except for ids that go to memory of the
// caller. One thread at a time may append.
class BatchResult {
public:
    // `bound` is the most ids there can be, unless a normalizer lengthens texts.
    BatchResult(const Options& options, const Output& output, std::size_t documents,
                std::size_t bound);

    // Do the ids go to memory of our own?
    [[nodiscard]] bool has_own_memory() const noexcept {
        return !output_.count_only && output_.data == nullptr;
    }
    // Makes the memory that append() copies to.
    void allocate();
    // Memory for the whole result that a single worker may write by itself.
    [[nodiscard]] ResultMemory make_memory() const;

    // Copies what the next task in order has written.
    void append(const Finished& finished);
    // Adopts what a single worker wrote into make_memory().
    void adopt(ResultMemory memory, std::size_t count, const std::vector<std::size_t>& doc_ends);
    // The result; throws Error(OutputTooSmall) if the ids did not fit the caller's memory.
    [[nodiscard]] Encoded take();

private:
    [[nodiscard]] std::size_t bytes_per_id() const noexcept { return output_.bits / 8; }
    [[nodiscard]] bool has_spans() const noexcept { return options_.spans != SpanUnit::None; }
    [[nodiscard]] PageBuffer room(std::size_t item_size, Spares kind) const;
    void make_room(PageBuffer& memory, std::size_t count, std::size_t item_size) const;
    void add_ends(const std::vector<std::size_t>& doc_ends);
    void copy_ids(const Finished& finished);

    const Options& options_;
    const Output& output_;
    const std::size_t bound_;
    Encoded result_;
};

}  // namespace tokenmill::pipeline
