// results: finished tasks, in order -> one Encoded.
#include "pipeline/results.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace tokenmill::pipeline {

namespace {

// As many ids of 32 bits as one table of pages maps: threads that touch pages of one table wait for
// each other.
constexpr std::size_t kChunk = std::size_t{1} << 19;
constexpr std::size_t kChunksAhead = 4;

// A part of the last large page is never used, so a short result has none.
Pages pages_for(std::size_t size_bytes) noexcept {
    constexpr std::size_t kLeast = std::size_t{32} << 20;
    return size_bytes < kLeast || are_large_pages_slow() ? Pages::Small : Pages::Large;
}

// The part of a chunk in one column of the result, rounded to such tables.
void touch_part(const PageBuffer& memory, std::size_t chunk, std::size_t item_size) noexcept {
    constexpr std::uintptr_t kTable = std::uintptr_t{2} << 20;
    const auto base = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t last = base + memory.size_bytes();
    const auto border = [&](std::size_t number) {
        const std::uintptr_t at = (base + number * kChunk * item_size) / kTable * kTable;
        return number == 0 ? base : std::min(at, last);
    };
    if (border(chunk) < border(chunk + 1)) {
        memory.touch_to_fill(border(chunk) - base, border(chunk + 1) - border(chunk));
    }
}

}  // namespace

BatchResult::BatchResult(const Options& options, const Output& output, std::size_t documents,
                         std::size_t bound)
    : options_(options), output_(output), bound_(bound) {
    // Not zeroed: the threads that write the offsets touch the pages.
    result_.offsets = std::make_unique_for_overwrite<std::int64_t[]>(documents + 1);
    result_.offsets[0] = 0;
    result_.documents = documents;
}

// Room for every id there can be: pages cost memory only when they are touched. The bound is
// generous, so half of it will do where address space is scarce; writers grow it if they must.
PageBuffer BatchResult::room(std::size_t item_size, Spares kind) {
    std::size_t wanted = bound_ + 64;
    for (;;) {
        try {
            std::size_t touched_bytes = 0;
            const std::size_t size = wanted * item_size;
            PageBuffer memory = take_spare(size, kind, touched_bytes, pages_for(size));
            touched_ = std::min(touched_, touched_bytes / item_size);
            return memory;
        } catch (const std::bad_alloc&) {
            if (wanted < 1024) {
                throw;
            }
            wanted /= 2;
        }
    }
}

ResultMemory BatchResult::make_memory() {
    ResultMemory memory;
    touched_ = bound_;  // and less for every column that is new
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

bool BatchResult::has_room(std::size_t more) const noexcept {
    const std::size_t end = result_.count + more;
    const auto holds = [&](const PageBuffer& memory, std::size_t item_size) {
        return end * item_size <= memory.size_bytes();
    };
    return (!has_own_memory() || holds(result_.memory.ids, bytes_per_id())) &&
           (!has_spans() || holds(result_.memory.spans, sizeof(Place))) &&
           (!options_.words || holds(result_.memory.words, sizeof(std::uint32_t)));
}

void BatchResult::grow(std::size_t more) {
    const std::size_t wanted = 2 * (result_.count + more);
    if (has_own_memory()) {
        enlarge(result_.memory.ids, wanted, bytes_per_id());
    }
    if (has_spans()) {
        enlarge(result_.memory.spans, wanted, sizeof(Place));
    }
    if (options_.words) {
        enlarge(result_.memory.words, wanted, sizeof(std::uint32_t));
    }
}

void BatchResult::enlarge(PageBuffer& memory, std::size_t wanted, std::size_t item_size) const {
    if (wanted * item_size > memory.size_bytes()) {
        PageBuffer larger(wanted * item_size);
        std::memcpy(larger.data(), memory.data(), result_.count * item_size);
        memory = std::move(larger);
    }
}

void BatchResult::add_ends(const std::vector<std::size_t>& doc_ends, std::size_t begin,
                           std::size_t document) noexcept {
    std::int64_t* out = result_.offsets.get() + document + 1;
    for (const std::size_t end : doc_ends) {
        *out++ = static_cast<std::int64_t>(begin + end);
    }
}

// Only what will surely be used, as far as the tasks so far can tell.
bool BatchResult::wants_chunk(std::size_t chunk, std::size_t placed,
                              std::size_t tasks) const noexcept {
    const std::size_t end = (chunk + 1) * kChunk;
    return has_own_memory() && placed != 0 && end <= result_.count + kChunksAhead * kChunk &&
           end <= result_.count / placed * tasks;
}

void BatchResult::touch_chunk(std::size_t chunk) const noexcept {
    if ((chunk + 1) * kChunk <= touched_) {
        return;
    }
    touch_part(result_.memory.ids, chunk, bytes_per_id());
    if (has_spans()) {
        touch_part(result_.memory.spans, chunk, sizeof(Place));
    }
    if (options_.words) {
        touch_part(result_.memory.words, chunk, sizeof(std::uint32_t));
    }
}

void BatchResult::touch_ahead(const ResultMemory& memory, std::size_t written,
                              std::size_t tasks_done) const noexcept {
    const std::size_t more = tasks_done == 0 ? 0 : written / tasks_done;
    if (written + more <= touched_ || more == 0) {
        return;
    }
    const auto touch = [&](const PageBuffer& column, std::size_t item_size) {
        if ((written + more) * item_size <= column.size_bytes()) {
            column.touch_to_fill(written * item_size, more * item_size);
        }
    };
    touch(memory.ids, sizeof(std::uint32_t));
    if (has_spans()) {
        touch(memory.spans, sizeof(Place));
    }
    if (options_.words) {
        touch(memory.words, sizeof(std::uint32_t));
    }
}

// Ids that do not fit the caller's memory are only counted, so that the error can name the size.
void BatchResult::copy(const Finished& finished, std::size_t document) noexcept {
    add_ends(finished.doc_ends, finished.begin, document);
    const std::size_t end = finished.begin + finished.count;
    if (has_own_memory()) {
        copy_ids(finished, result_.memory.ids.data());
    } else if (!output_.count_only && end <= output_.capacity) {
        copy_ids(finished, output_.data);
    }
    if (has_spans()) {
        std::memcpy(result_.memory.spans.as<Place>() + finished.begin, finished.memory.spans.data(),
                    finished.count * sizeof(Place));
    }
    if (options_.words) {
        std::memcpy(result_.memory.words.as<std::uint32_t>() + finished.begin,
                    finished.memory.words.data(), finished.count * sizeof(std::uint32_t));
    }
}

void BatchResult::copy_ids(const Finished& finished, void* base) const noexcept {
    const auto* ids = finished.memory.ids.as<std::uint32_t>();
    if (output_.bits == 32) {
        std::memcpy(static_cast<std::uint32_t*>(base) + finished.begin, ids,
                    finished.count * sizeof(std::uint32_t));
        return;
    }
    auto* out = static_cast<std::uint16_t*>(base) + finished.begin;
    for (std::size_t i = 0; i < finished.count; ++i) {
        out[i] = static_cast<std::uint16_t>(ids[i]);
    }
}

void BatchResult::adopt(ResultMemory memory, std::size_t count,
                        const std::vector<std::size_t>& doc_ends) {
    add_ends(doc_ends, 0, 0);
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
