// pipeline: documents -> ids, on one thread or many. The only room that knows the whole flow.
// A Model is immutable and may be used from any number of threads; every thread leases a worker
// with its own tables. The ids do not depend on the number of threads.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/blob.h"
#include "base/buffer.h"
#include "base/hash128.h"
#include "normalize/normalize.h"
#include "pipeline/trust.h"
#include "pipeline/worker.h"
#include "simd/target.h"

namespace tokenmill::pipeline {

enum ModelSection : std::uint32_t {
    kMeta = 1,
    kNormalizer = 400,
    kPrefixIds = 401,
    kSuffixIds = 402,
    kFlags = 403,
    kTrim = 404,
    kWholeRanges = 405,  // present if a range of text is one word
    kRespelling = 406,   // a normalizer for the text between added tokens
};

// One document as the caller holds it. Borrowed: it must stay until the call returns.
struct Text {
    enum class Encoding : std::uint8_t {
        Utf8,     // bytes to be checked
        Trusted,  // bytes known to be UTF-8
        Latin1,   // code points in one byte each
        Ucs2,     // code points in two bytes each
        Ucs4,
    };
    const void* data = nullptr;
    std::size_t size = 0;  // units of the encoding
    Encoding encoding = Encoding::Utf8;
};

// Units of a text that is worth being shared between threads.
constexpr std::size_t kBigDocument = std::size_t{1} << 20;

// Which ranges of text get a blank in front unless they start with one.
enum class PrefixSpace : std::uint32_t { Never = 0, Always = 1, First = 2 };

class SafeCuts;

enum class SpecialMode : std::uint8_t { Encode, AsText, Raise };

struct Options {
    bool add_special_tokens = false;
    SpecialMode special = SpecialMode::Encode;
    bool replace_invalid = false;
    unsigned threads = 1;
    SpanUnit spans = SpanUnit::None;
    bool words = false;          // and the numbers of words; needs spans
    const Stop* stop = nullptr;  // borrowed; where it is due, a call throws its Error
    // The text continues another one, cut at one of these places (safe_cuts.h): it gets nothing in
    // front.
    const SafeCuts* continues = nullptr;
    // Borrowed, for a single text whose encoding is Trusted: special tokens then count only there.
    const Trust* trust = nullptr;
    CallCounts* counts = nullptr;  // borrowed; what the call counts is added
};

// A piece of a text, and whether control tokens count in it.
struct Part {
    Text text;
    bool is_trusted = false;
};

// Where the ids of a batch go: to memory of the caller, or to our own if `data` is null.
struct Output {
    void* data = nullptr;
    std::size_t capacity = 0;  // ids
    unsigned bits = 32;        // 32 or 16
    bool count_only = false;
};

struct Encoded {
    ResultMemory memory;  // ids unless the caller brought memory; spans and words if asked for
    std::size_t count = 0;
    std::unique_ptr<std::int64_t[]> offsets;  // one more than documents
    std::size_t documents = 0;
};

// The kernels of a target.
[[nodiscard]] const EncodeKernel& kernel_of(simd::Target target);

// A call of its own, or a part of one that is counted elsewhere.
enum class LeaseFor : std::uint8_t { Call, Part };

struct MemoryUse {
    std::size_t mapped;   // the compiled model
    std::size_t tables;   // word tables of all idle workers, and those that they share
    std::size_t buffers;  // the output and scratch of idle workers, and spare buffers
    std::size_t shared;   // of the tables: those that workers share
    std::size_t scratch;  // of the buffers: for texts on their way
    std::size_t workers;
    std::size_t large_tables;  // of one worker that has seen enough text
};

class Model {
public:
    // Borrows the buffer, which must outlive the model and be aligned to 64 bytes.
    Model(Bytes blob, const Tables& tables);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // A worker, for this thread alone until the lease ends. Encodes one document at a time; the ids
    // are in the worker's memory until the next call.
    class Lease {
    public:
        explicit Lease(const Model& model, LeaseFor what = LeaseFor::Call)
            : model_(model), worker_(model.take_worker()) {
            if (what == LeaseFor::Call) {
                worker_->encoder.clock.begin_short();
            }
        }
        ~Lease() { model_.give_back(worker_); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        [[nodiscard]] std::span<const TokenId> encode(const Text& text, const Options& options);
        [[nodiscard]] Worker& worker() noexcept { return *worker_; }

    private:
        const Model& model_;
        Worker* worker_;
    };

    [[nodiscard]] Encoded encode_batch(std::span<const Text> texts, const Options& options,
                                       const Output& output) const;
    // The ids of the joined parts. `leaked` becomes the number of control tokens that the model
    // itself made of text: some vocabularies hold them as words.
    [[nodiscard]] Encoded encode_parts(std::span<const Part> parts, const ControlTokens& control,
                                       Options options, std::size_t& leaked) const;
    // The number of ids of `text`; `limit` + 1 if there are more than `limit`.
    [[nodiscard]] std::size_t count(const Text& text, const Options& options,
                                    std::size_t limit) const;

    // The next place at or after `from`, in units of the text, where the text may be cut: the part
    // before it has the ids that it has in the whole text, unless an added token lies across. The
    // size of the text if there is no such place nearby.
    [[nodiscard]] std::size_t prefix_end(const Text& text, std::size_t from) const;
    // Where a growing text may be cut (safe_cuts.h); made at the first call.
    [[nodiscard]] const SafeCuts& safe_cuts() const;
    // Is it UTF-8, or code points without a surrogate?
    [[nodiscard]] bool is_well_formed(const Text& text) const noexcept;

    [[nodiscard]] const vocab::VocabView& vocab() const noexcept { return vocab_; }
    [[nodiscard]] const split::SplitView& split() const noexcept { return split_; }
    [[nodiscard]] const split::AddedView& added() const noexcept { return added_; }
    [[nodiscard]] Bytes meta() const noexcept { return meta_; }
    // The serialized normalizer; empty where text stays as it is.
    [[nodiscard]] Bytes normalizer() const { return blob_.get<std::uint8_t>(kNormalizer); }
    // Is every range between added tokens split as it is, with nothing put in front? (Trimming
    // changes the offsets of tokens, never their text.)
    [[nodiscard]] bool has_plain_ranges() const noexcept {
        return prefix_space_ == PrefixSpace::Never && !whole_ranges_ && respeller_.steps.empty();
    }
    [[nodiscard]] PrefixSpace prefix_space() const noexcept { return prefix_space_; }
    // Is text rewritten once more after the added tokens were cut out?
    [[nodiscard]] bool has_respelling() const noexcept { return !respeller_.steps.empty(); }
    // May a long text between added tokens be cut in two, so that both parts have their own ids?
    [[nodiscard]] bool has_safe_cuts() const noexcept;
    // Of all bytes of the compiled model, which are read once. Equal models have equal ids.
    [[nodiscard]] Hash128 fingerprint() const noexcept;
    // Ids that go before and after a text when special tokens are added.
    [[nodiscard]] std::span<const std::uint32_t> prefix_ids() const noexcept { return prefix_; }
    [[nodiscard]] std::span<const std::uint32_t> suffix_ids() const noexcept { return suffix_; }
    // The most ids that `text` can become, unless a normalizer lengthens it.
    [[nodiscard]] std::size_t most_ids(const Text& text) const noexcept;
    [[nodiscard]] TokenId max_id() const noexcept { return max_id_; }
    [[nodiscard]] MemoryUse memory() const noexcept;
    // What all calls since the model was made have counted. Calls that are running count as far as
    // they have come, except for the time of their stages.
    [[nodiscard]] CounterValues counters() const noexcept;
    // Deletes the workers that nobody uses now, and the tables that they share if there is no other
    // one. Returns their bytes.
    std::size_t release() const;
    [[nodiscard]] simd::Target target() const noexcept { return target_; }

private:
    template <typename Sink>
    friend class DocumentReader;
    friend class SegmentEncoder;
    friend class BatchRun;
    friend class SafeCuts;
    friend class Session;
    [[nodiscard]] Worker* take_worker() const;
    // The tables that workers share, or null if there is one worker only.
    [[nodiscard]] encode::SharedTables* shared_tables(std::size_t threads) const;
    [[nodiscard]] bool is_border(std::uint8_t left, std::uint8_t right) const;
    void give_back(Worker* worker) const noexcept;
    // The same for a worker that nobody has used.
    void put_back(Worker* worker) const noexcept;
    void remove(Worker* worker) const noexcept;
    template <typename Do>
    void for_each_idle(const Do& look) const;
    // Makes a worker write the spans and words that the options ask for, and end where they say.
    void set_up(Worker& worker, const Options& options) const;

    BlobReader blob_;
    vocab::VocabView vocab_;
    split::SplitView split_;
    split::AddedView added_;
    std::vector<std::uint8_t> facts_;  // split::kFact... bits of every basic code point
    normalize::Program normalizer_;
    std::span<const std::uint32_t> prefix_;
    std::span<const std::uint32_t> suffix_;
    PrefixSpace prefix_space_ = PrefixSpace::Never;
    Trim trim_ = Trim::Never;
    bool whole_ranges_ = false;
    // The normalizer without a last step that puts text in front, and that text.
    normalize::Program rewriter_;
    Bytes prepended_;
    // Rewrites text after all added tokens were found.
    normalize::Program respeller_;
    Bytes meta_;
    TokenId max_id_ = 0;
    simd::Target target_;
    const EncodeKernel* kernel_;
    Tables tables_;
    mutable std::atomic<encode::SharedTables*> shared_{nullptr};  // made if needed
    // Shared tables that a worker may still use, but no new one will.
    struct Retired {
        std::unique_ptr<encode::SharedTables> tables;
        Retired* next = nullptr;
    };
    mutable std::atomic<Retired*> retired_{nullptr};
    // Lock-free so that a fork in the middle of anything leaves it usable.
    alignas(64) mutable std::array<std::atomic<Worker*>, 64> idle_{};
    mutable std::atomic<std::size_t> made_{0};
    mutable CounterShelf counters_;
    mutable std::atomic<const std::vector<std::uint8_t>*> token_sizes_{nullptr};  // made if needed
    mutable std::atomic<const SafeCuts*> safe_cuts_{nullptr};                     // made if needed
    mutable std::array<std::atomic<std::uint64_t>, 2> fingerprint_{};             // if needed
    mutable std::atomic<bool> has_fingerprint_{false};
};

// One document, cut at its added tokens, for a caller who knows the ids of some of the texts
// between them. Those depend on the model, the bytes and the special mode alone; and on being at
// the start of the document, where the model puts a blank in front of the first text only.
//
//   document   Hi <|end|> cafe            segments: text, token, text
//   caller     add  add   put             in this order; ids() has them all
class SegmentEncoder {
public:
    // Checks the text, and searches it for added tokens. Borrows all three.
    SegmentEncoder(const Model& model, const Text& text, const Options& options);
    ~SegmentEncoder();
    SegmentEncoder(const SegmentEncoder&) = delete;
    SegmentEncoder& operator=(const SegmentEncoder&) = delete;

    // Cuts the last segment, if it is a text, into parts of about `size` bytes where the model
    // has_safe_cuts(). The parts do not depend on what comes after them.
    void cut_last(std::size_t size);
    [[nodiscard]] std::span<const split::Segment> segments() const noexcept;
    [[nodiscard]] Bytes text_of(const split::Segment& segment) const noexcept;
    // Is it the rest of a text that was cut?
    [[nodiscard]] bool continues(const split::Segment& segment) const noexcept;

    // Encodes the next segment, later: many short ones are answered at once.
    void add(const split::Segment& segment);
    // Room for the ids of the next segment, which the caller knows; 64 more may be overwritten.
    [[nodiscard]] TokenId* put(std::size_t count);
    // Ids of all segments so far, in memory that stays until the next call. Answers what is added.
    [[nodiscard]] std::span<const TokenId> ids();
    // After the last segment: all ids of the document.
    [[nodiscard]] std::span<const TokenId> finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

struct ModelInput {
    vocab::VocabInput vocab;
    split::SplitInput split;
    bool cut_by_tokens = false;           // no split: words end where no token reaches over
    std::vector<split::AddedText> added;  // contents as the definition has them
    std::span<const std::uint32_t> white_ranges;
    std::span<const std::uint32_t> word_ranges;
    Bytes normalizer;
    Bytes respelling;  // serialized as the normalizer; for text that added tokens were cut out of
    PrefixSpace prefix_space = PrefixSpace::Never;
    Trim trim = Trim::Never;
    std::span<const std::uint32_t> prefix_ids;
    std::span<const std::uint32_t> suffix_ids;
    Bytes meta;
};

[[nodiscard]] std::vector<std::uint8_t> compile_model(const ModelInput& input);

}  // namespace tokenmill::pipeline
