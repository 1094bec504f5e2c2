// One worker: the state that turns documents into ids on one thread. Indoors of pipeline.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "encode/encode.h"
#include "pipeline/spans.h"
#include "split/split.h"

namespace tokenmill::pipeline {

struct Worker;

// What is compiled once per target.
struct Kernel {
    // Words of [begin, stop) into the batch, looking ahead to `end`; memory is readable up to
    // `readable`. The text must stay until the next flush.
    void (*encode_range)(Worker& worker, const std::uint8_t* begin, const std::uint8_t* stop,
                         const std::uint8_t* end, const std::uint8_t* readable);
    // Writes the ids of the batch to the worker's output.
    void (*flush)(Worker& worker);
    bool (*is_utf8)(const std::uint8_t* begin, const std::uint8_t* end);
    split::AddedView::FindCandidate find_candidate;
};

extern const Kernel kScalarKernel;
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;

struct Worker {
    Worker(const vocab::VocabView& vocab, const split::SplitView& splitter,
           const std::uint8_t* char_facts, const Kernel& functions, encode::TableBits bits)
        : split(splitter), facts(char_facts), kernel(functions), encoder(vocab, bits) {}

    // Makes room for `more` ids behind all that was reserved since clear().
    void reserve(std::size_t more);
    // Bytes that stay until the document has ended and its units are answered.
    [[nodiscard]] std::uint8_t* take_scratch(std::size_t size);
    void add_id(TokenId id);
    void end_document();
    // The text that the next units point into stands at this range of its document.
    void open_range(const SpanRange& range);
    // Ids written so far stay valid until clear().
    void clear();
    void clear_scratch();

    const split::SplitView& split;
    const std::uint8_t* facts;  // what split::kFact... say of every basic code point
    const Kernel& kernel;
    encode::WordEncoder encoder;

    PageBuffer output;
    std::uint32_t* cursor = nullptr;  // next id
    std::size_t bound = 0;            // ids that may be written at the most, since clear()

    struct Fixed {
        std::uint32_t index;
        std::uint64_t value;
    };
    std::vector<Fixed> fixed;           // units of the batch whose ids are known
    std::vector<std::uint32_t> marks;   // documents that end before this unit of the batch
    std::vector<std::size_t> doc_ends;  // in ids, since clear()

    SpanState spans;

    std::vector<std::vector<std::uint8_t>> scratch;  // blocks; only the last one has room
    std::size_t scratch_used = 0;                    // of the last one
    std::vector<split::Segment> segments;
    std::vector<split::Segment> inner_segments;
    std::vector<std::uint8_t> normalized;

    [[nodiscard]] std::size_t scratch_bytes() const noexcept;

    [[nodiscard]] std::uint32_t* first() const noexcept { return output.as<std::uint32_t>(); }
    [[nodiscard]] std::size_t written() const noexcept {
        return static_cast<std::size_t>(cursor - first());
    }
};

}  // namespace tokenmill::pipeline
