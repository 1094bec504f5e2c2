// results: finished tasks, in order -> one Encoded.
#include "pipeline/results.h"

#include <cstring>
#include <new>

namespace tokenmill::pipeline {

BatchResult::BatchResult(const Options& options, const Output& output, std::size_t documents,
                         std::size_t bound)
    : options_(options), output_(output), bound_(bound) {
    result_.offsets.reserve(documents + 1);
    result_.offsets.push_back(0);
}

// Room for every id there can be: pages cost memory only when they are touched. The bound is
// generous, so half of it will do where address space is scarce; writers grow it if they must.
PageBuffer BatchResult::room(std::size_t item_size, Spares kind) const {
    std::size_t wanted = bound_ + 64;
    for (;;) {
        try {
            return take_spare(wanted * item_size, kind);
        } catch (const std::bad_alloc&) {
            if (wanted < 1024) {
                throw;
            }
            wanted /= 2;
        }
    }
}

ResultMemory BatchResult::make_memory() const {
    ResultMemory memory;
    if (has_own_memory()) {
        memory.ids = room(bytes_per_id(), Spares::Ids);
    }
    if (has_spans()) {
        memory.spans = room(sizeof(Place), Spares::Spans);
    }
    if (options_.words) {
        memory.words = room(sizeof(std::uint32_t), Spares::Words);
    }
    return memory;
}

void BatchResult::allocate() {
    result_.memory = make_memory();
}

void BatchResult::make_room(PageBuffer& memory, std::size_t count, std::size_t item_size) const {
    if (count * item_size > memory.size_bytes()) {
        PageBuffer larger(2 * count * item_size);
        std::memcpy(larger.data(), memory.data(), result_.count * item_size);
        memory = std::move(larger);
    }
}

void BatchResult::add_ends(const std::vector<std::size_t>& doc_ends) {
    for (const std::size_t end : doc_ends) {
        result_.offsets.push_back(static_cast<std::int64_t>(result_.count + end));
    }
}

// Ids that do not fit the caller's memory are only counted, so that the error can name the size.
void BatchResult::append(const Finished& finished) {
    add_ends(finished.doc_ends);
    const std::size_t end = result_.count + finished.count;
    if (has_own_memory()) {
        make_room(result_.memory.ids, end, bytes_per_id());
    }
    if (!output_.count_only && (output_.data == nullptr || end <= output_.capacity)) {
        copy_ids(finished);
    }
    if (has_spans()) {
        make_room(result_.memory.spans, end, sizeof(Place));
        std::memcpy(result_.memory.spans.as<Place>() + result_.count, finished.memory.spans.data(),
                    finished.count * sizeof(Place));
    }
    if (options_.words) {
        make_room(result_.memory.words, end, sizeof(std::uint32_t));
        std::memcpy(result_.memory.words.as<std::uint32_t>() + result_.count,
                    finished.memory.words.data(), finished.count * sizeof(std::uint32_t));
    }
    result_.count = end;
}

void BatchResult::copy_ids(const Finished& finished) {
    void* base = output_.data != nullptr ? output_.data : result_.memory.ids.data();
    const auto* ids = finished.memory.ids.as<std::uint32_t>();
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

void BatchResult::adopt(ResultMemory memory, std::size_t count,
                        const std::vector<std::size_t>& doc_ends) {
    add_ends(doc_ends);
    result_.memory = std::move(memory);
    result_.count = count;
}

Encoded BatchResult::take() {
    if (output_.data != nullptr && result_.count > output_.capacity) {
        throw Error(ErrorCode::OutputTooSmall, std::to_string(result_.count));
    }
    return std::move(result_);
}

}  // namespace tokenmill::pipeline
