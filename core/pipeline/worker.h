// worker: ranges of text and known ids -> ids, on one thread. Internal to pipeline.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/platform.h"
#include "encode/encode.h"
#include "pipeline/counter_shelf.h"
#include "pipeline/spans.h"
#include "split/split.h"

namespace tokenmill::pipeline {

struct Worker;

// Text whose words are wanted, borrowed from the code that holds the document:
//
//   begin         stop         end          readable
//   |<- encoded ->|<- context ->|<- garbage ->|
//
// A scan may look at the context to decide where the last word ends, and may load bytes up to
// `readable` in whole blocks.
struct TextRange {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* stop = nullptr;
    const std::uint8_t* end = nullptr;
    const std::uint8_t* readable = nullptr;
};

// Code points of a fixed width, borrowed.
struct CodeUnits {
    const void* data;
    std::size_t size;   // units
    std::size_t width;  // bytes of a unit: 1, 2 or 4
};

// What became UTF-8: all units, or those before the first surrogate.
struct Transcoded {
    std::size_t units;
    std::size_t bytes;
};
constexpr std::size_t kTranscodeSlack = 64;  // bytes that may be written after the last one

// What is compiled once per instruction set.
struct EncodeKernel {
    // Gathers the words of a range in the batch. The text must stay until the next flush.
    void (*encode_range)(Worker& worker, const TextRange& range);
    // Writes the ids of the batch to the worker's memory.
    void (*flush)(Worker& worker);
    bool (*is_utf8)(const std::uint8_t* begin, const std::uint8_t* end);
    // The same, and whether a text of the filter may start anywhere.
    bool (*check_text)(const split::PrefixFilter& filter, const std::uint8_t* begin,
                       const std::uint8_t* end, bool& may_start);
    split::AddedView::FindCandidate find_candidate;
    // The bytes of UTF-8 that units become, if each surrogate takes three.
    std::size_t (*utf8_size)(const CodeUnits& units);
    // Writes units as UTF-8, to memory with kTranscodeSlack bytes more than they need.
    Transcoded (*transcode)(const CodeUnits& units, std::uint8_t* out);
};

extern const EncodeKernel kScalarKernel;
extern const EncodeKernel kAvx2Kernel;
extern const EncodeKernel kAvx512Kernel;
extern const EncodeKernel kNeonKernel;
extern const EncodeKernel kSimd128Kernel;

// What a worker writes: for every id, if wanted, a Place and the number of its word.
struct ResultMemory {
    PageBuffer ids;
    PageBuffer spans;
    PageBuffer words;
};

// Vectors that DocumentReader uses again for every document. Nobody else touches them.
struct ReaderScratch {
    std::vector<split::Segment> segments;        // of the raw document
    std::vector<split::Segment> inner_segments;  // of one normalized stretch of it
    normalize::Buffer normalized;
    // With trusted ranges: the control tokens that were found, ranges of a stretch and of what it
    // was rewritten to, and where each byte of that comes from.
    std::vector<split::Segment> control;
    std::vector<ByteRange> ranges;
    std::vector<ByteRange> inner_ranges;
    normalize::Spans origins;
};

// The tables of a worker: small ones for the first bytes of text, because they cost nothing to
// make, then large ones.
struct Tables {
    encode::TableBits bits;  // of the large ones
    std::size_t small_until = std::size_t{512} << 10;
};

// Memory that will be read soon. The loops ask for a little of it with every block, so that it
// comes while they work: all of it at once would be more requests than a core has places for.
struct AheadOfTime {
    void open(const void* data, std::size_t size) noexcept {
        at = static_cast<const std::uint8_t*>(data);
        end = at + size;
    }
    // Twice as fast as a text is read: the next one may be larger, or twice as wide.
    void ask() noexcept {
        constexpr std::ptrdiff_t kLine = 64;
        if (end - at > kLine) {
            prefetch_line<NearTo::L2>(at);  // not to L1, which the tables need
            prefetch_line<NearTo::L2>(at + kLine);
            at += end - at < 2 * kLine ? end - at : 2 * kLine;
        }
    }

    const std::uint8_t* at = nullptr;
    const std::uint8_t* end = nullptr;
};

// The state of one thread. A Model owns its workers; the code that holds the lease uses one alone.
//
// The methods are for everybody. Of the data members,
//   - the batch (encoder, fixed, marks, doc_ends, cursor, spans) belongs to the text compiled once
//     per target (worker-inl.h, lone-inl.h, spans-inl.h);
//   - `memory` and `spare` belong to BatchRun between tasks: it takes results away and brings
//     buffers back;
//   - `reader` belongs to DocumentReader, `ahead` to BatchRun and the text compiled per target.
struct Worker {
    Worker(const vocab::VocabView& vocab, const split::SplitView& splitter,
           const std::uint8_t* char_facts, const EncodeKernel& functions, const Tables& tables,
           CounterLease counted)
        : split(splitter),
          facts(char_facts),
          kernel(functions),
          published(std::move(counted)),
          encoder(vocab, tables.bits),
          small_left_(tables.small_until) {}

    // Makes room for `more` ids in addition to all that was reserved since clear().
    void reserve(std::size_t more);
    // Bytes that stay until the document has ended and its units are answered.
    [[nodiscard]] std::uint8_t* take_scratch(std::size_t size);
    // Work ends early when it is due. Null, as after reset(): never.
    void set_stop(const Stop* stop) noexcept { encoder.set_stop(stop); }
    // About so many bytes of text are coming: if they are many, their words need large tables.
    void expect(std::size_t size);
    // The last `size` of the bytes taken last were not needed.
    void give_back_scratch(std::size_t size) noexcept { scratch_used_ -= size; }
    // Adds the words of a range; `place` matters only while spans are written.
    void add_range(const TextRange& range, const SpanRange& place);
    // Adds an id that is known already; `span` matters only while spans are written.
    void add_id(TokenId id, const FixedSpan& span);
    void end_document();
    // Answers what is gathered and writes its ids.
    void flush() { kernel.flush(*this); }
    // The batch is answered and written: forgets it. For the kernels.
    void end_batch();
    // Lets all threads see what was counted.
    void publish() noexcept { published->publish(encoder.counters); }
    // What was ever counted here.
    [[nodiscard]] CounterValues counted() noexcept {
        publish();
        return published->values();
    }
    // Starts over; ids written before are no longer valid.
    void clear();
    // As new for the next lease, even after an error: nothing gathered, no spans wanted. Tables
    // and buffers stay.
    void reset();

    [[nodiscard]] bool has_spans() const noexcept { return spans.unit != SpanUnit::None; }
    [[nodiscard]] std::uint32_t* first() const noexcept { return memory.ids.as<std::uint32_t>(); }
    [[nodiscard]] std::size_t written() const noexcept {
        return static_cast<std::size_t>(cursor - first());
    }
    // One of the spare buffers, or none.
    [[nodiscard]] ResultMemory take_spare_memory() noexcept;
    // Bytes of results and scratch that the worker holds.
    [[nodiscard]] std::size_t buffer_bytes() const noexcept;
    [[nodiscard]] std::size_t scratch_bytes() const noexcept;

    const split::SplitView& split;
    const std::uint8_t* facts;  // split::kFact... bits of every basic code point
    const EncodeKernel& kernel;
    const CounterLease published;
    encode::WordEncoder encoder;

    ResultMemory memory;
    std::vector<ResultMemory> spare;  // used before, for the next tasks
    std::uint32_t* cursor = nullptr;  // where the next id goes

    // A unit of the batch whose ids are known, as a value (vocab/value.h).
    struct Fixed {
        std::uint32_t index;
        std::uint64_t value;
    };
    std::vector<Fixed> fixed;           // in rising order of `index`
    std::vector<std::uint32_t> marks;   // documents that end before this unit of the batch
    std::vector<std::size_t> doc_ends;  // in ids, since clear()
    SpanState spans;

    ReaderScratch reader;
    AheadOfTime ahead;

private:
    void clear_scratch();
    void grow_tables();

    std::size_t small_left_;                          // bytes of text until the tables grow
    std::size_t bound_ = 0;                           // the most ids since clear()
    std::vector<std::vector<std::uint8_t>> scratch_;  // blocks; only the last one has room
    std::size_t scratch_used_ = 0;                    // of the last one
};

}  // namespace tokenmill::pipeline
