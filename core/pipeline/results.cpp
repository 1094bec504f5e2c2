// results: finished tasks, in order -> one Encoded.
#include "pipeline/results.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tokenmill::pipeline {

namespace {

// Copies to memory whose pages may be new. Asking for many pages at a time takes half as long as a
// fault for each, and a piece is still in the cache when it is written.
void copy_fresh(std::uint8_t* out, const void* from, std::size_t size) noexcept {
    constexpr std::size_t kPiece = std::size_t{1} << 17;
    for (std::size_t at = 0; at < size; at += kPiece) {
        const std::size_t piece = std::min(kPiece, size - at);
        touch_pages(out + at, piece);
        std::memcpy(out + at, static_cast<const std::uint8_t*>(from) + at, piece);
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

// Ids that do not fit the caller's memory are only counted, so that the error can name the size.
void BatchResult::copy(const Finished& finished, std::size_t document) noexcept {
    add_ends(finished.doc_ends, finished.begin, document);
    const std::size_t end = finished.begin + finished.count;
    const ResultMemory& from = finished.memory;
    if (has_own_memory()) {
        copy_ids(finished, result_.memory.ids.data(), true);
    } else if (!output_.count_only && end <= output_.capacity) {
        copy_ids(finished, output_.data, false);
    }
    if (has_spans()) {
        copy_fresh(result_.memory.spans.data() + finished.begin * sizeof(Place), from.spans.data(),
                   finished.count * sizeof(Place));
    }
    if (options_.words) {
        copy_fresh(result_.memory.words.data() + finished.begin * sizeof(std::uint32_t),
                   from.words.data(), finished.count * sizeof(std::uint32_t));
    }
}

void BatchResult::copy_ids(const Finished& finished, void* base, bool is_fresh) const noexcept {
    const auto* ids = finished.memory.ids.as<std::uint32_t>();
    std::uint8_t* at = static_cast<std::uint8_t*>(base) + finished.begin * bytes_per_id();
    if (output_.bits == 32) {
        const std::size_t size = finished.count * sizeof(std::uint32_t);
        is_fresh ? copy_fresh(at, ids, size) : static_cast<void>(std::memcpy(at, ids, size));
        return;
    }
    auto* out = reinterpret_cast<std::uint16_t*>(at);
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
