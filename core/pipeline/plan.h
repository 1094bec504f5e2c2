// plan: a batch -> tasks: runs of small documents, and pieces of big ones. Internal to pipeline.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "pipeline/document.h"

namespace tokenmill::pipeline {

// A document prepared for several workers. The Plan owns it.
struct BigDocument {
    std::size_t document = 0;
    ItemList list;
    std::exception_ptr failure;  // of reading it; thrown when its turn comes
    CounterValues counted;       // while it was read
};

struct Task {
    std::size_t first = 0;  // documents, or items of a big one
    std::size_t last = 0;
    std::size_t document = 0;  // the first one
    std::size_t bound = 0;     // the most ids, unless a normalizer lengthens the text
    const BigDocument* big = nullptr;
    bool ends_document = true;  // of the big one
};

// Bytes of text that are worth a task: its ids are still in the cache of the core when they are
// copied, and no thread is busy for long after the others (log 2026-11-16).
constexpr std::size_t kTaskBytes = std::size_t{1} << 17;

class Plan {
public:
    Plan(const Model& model, std::span<const Text> texts, const Options& options);

    [[nodiscard]] const std::vector<Task>& tasks() const noexcept { return tasks_; }
    // The most ids that the batch can become, unless a normalizer lengthens it.
    [[nodiscard]] std::size_t bound() const noexcept { return bound_; }
    // What was counted while big documents were read.
    [[nodiscard]] CounterValues counted() const noexcept;

private:
    [[nodiscard]] bool is_big(std::size_t document) const noexcept;
    void close(Task& task, std::size_t last);
    void read_all_big();
    void read_big(BigDocument& big) const;
    void plan_big(const BigDocument& big);

    const Model& model_;
    std::span<const Text> texts_;
    const Options& options_;
    std::vector<Task> tasks_;
    std::vector<std::unique_ptr<BigDocument>> big_;
    std::size_t bound_ = 0;
};

}  // namespace tokenmill::pipeline
