// pipeline: a compiled model -> a Model, its workers, and one text at a time.
#include <algorithm>
#include <tuple>

#include "base/platform.h"
#include "pipeline/document.h"
#include "pipeline/pipeline.h"
#include "pipeline/safe_cuts.h"
#include "pipeline/transcode.h"

#if TOKENMILL_SLOWED  // percent: a build that is slower, to see whether `bench` notices
#include "base/slowed.h"
#endif

namespace tokenmill::pipeline {

namespace {

// The CharSide bits of the vocabulary as the fact bits that the split tests, so that the two rooms
// need not know each other.
void add_sides(std::span<const std::uint8_t> sides, std::vector<std::uint8_t>& facts) {
    for (std::size_t code = 0; code < sides.size(); ++code) {
        const auto fact = [&](unsigned side, unsigned bit) {
            return (sides[code] & side) != 0 ? bit : 0U;
        };
        facts[code] = static_cast<std::uint8_t>(fact(vocab::kAfterOther, split::kFactAfterOther) |
                                                fact(vocab::kBeforeOther, split::kFactBeforeOther) |
                                                fact(vocab::kBeforeChar3, split::kFactBeforeChar3) |
                                                fact(vocab::kAfterChar3, split::kFactAfterChar3));
    }
}

// Class bits for a split by neighbours: Other counts as a letter, and every class other than that
// and Wide as unusual.
unsigned neighbour_bits(const split::SplitView& split, std::uint32_t code) {
    const auto found = static_cast<ByteClass>(split.rule_classes.basic[code]);
    if (found == ByteClass::Other) {
        return split::kLetter;
    }
    return found == ByteClass::Wide ? 0U : unsigned{split::kWhite};
}

// One byte for every basic code point, with all that a scan asks about a character of three bytes:
//
//   bit   0       1        2..4                5..7
//         letter  unusual  junction as left    junction as right      (see split::kFact...)
//
// "Unusual" sends a block to the slower code that handles every class.
std::vector<std::uint8_t> char_facts(const split::SplitView& split, const vocab::VocabView& vocab) {
    std::vector<std::uint8_t> facts(65536 + 4, 0);  // they are gathered four bytes at a time
    if (split.rule.family == split::Family::Adjacent && !vocab.char_sides.empty()) {
        add_sides(vocab.char_sides, facts);
        return facts;
    }
    const bool by_neighbours = split.rule.family == split::Family::Adjacent;
    for (std::uint32_t code = 0; code < 65536; ++code) {
        const unsigned bits =
            by_neighbours ? neighbour_bits(split, code) : unsigned{split.rule_classes.basic[code]};
        const unsigned flags = vocab.junctions.flags[code];
        const unsigned usual = split.rule.family == split::Family::Cased
                                   ? split::kLetter | split::kBothCases
                                   : ~unsigned{split::kNumber | split::kWhite};
        const bool unusual = (bits & ~usual) != 0;
        facts[code] = static_cast<std::uint8_t>(
            ((bits & split::kLetter) != 0 ? split::kFactLetter : 0U) |
            (unusual ? split::kFactUnusual : 0U) | (flags & 7U) << split::kFactLeftShift |
            (flags >> 4) << split::kFactRightShift);
    }
    return facts;
}

// Where this thread looks for an idle worker first. Eight slots are a line of the cache: threads
// that call at the same time would otherwise take it from each other at every call.
//
//   thread   0   1   2 ... 7    8   9 ...
//   slot     0   8  16 ... 56   1   9 ...
std::size_t first_slot() noexcept {
    static std::atomic<std::size_t> threads{0};
    constexpr std::size_t kNone = ~std::size_t{0};
    thread_local std::size_t slot = kNone;
    if (slot == kNone) {
        const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
        slot = (number % 8 * 8 + number / 8 % 8) % 64;
    }
    return slot;
}

}  // namespace

const EncodeKernel& kernel_of(simd::Target target) {
    switch (target) {
#if TOKENMILL_X86_64
        case simd::Target::Avx2:
            return kAvx2Kernel;
        case simd::Target::Avx512:
            return kAvx512Kernel;
#elif TOKENMILL_AARCH64
        case simd::Target::Neon:
            return kNeonKernel;
#elif TOKENMILL_SIMD128
        case simd::Target::Simd128:
            return kSimd128Kernel;
#endif
        default:
            return kScalarKernel;
    }
}

Model::Model(Bytes blob, const Tables& tables)
    : blob_(blob),
      vocab_(blob_),
      split_(blob_),
      added_(blob_),
      normalizer_(normalize::parse_program(blob_.get<std::uint8_t>(kNormalizer))),
      prefix_(blob_.get<std::uint32_t>(kPrefixIds)),
      suffix_(blob_.get<std::uint32_t>(kSuffixIds)),
      prefix_space_(blob_.need<PrefixSpace>(kFlags, 1)[0]),
      trim_(blob_.need<Trim>(kTrim, 1)[0]),
      whole_ranges_(!blob_.get<std::uint32_t>(kWholeRanges).empty()),
      meta_(blob_.get<std::uint8_t>(kMeta)),
      target_(simd::chosen_target()),
      kernel_(&kernel_of(target_)),
      tables_(tables) {
    if (trim_ > Trim::KeepAdded) {
        throw Error(ErrorCode::CorruptModel, "compiled model: no such way to trim spans");
    }
    if (split_.rule.family != split::Family::None) {
        facts_ = char_facts(split_, vocab_);
    }
    respeller_ = normalize::parse_program(blob_.get<std::uint8_t>(kRespelling));
    rewriter_ = normalizer_;
    if (!normalizer_.steps.empty() &&
        normalizer_.steps.back().kind == normalize::StepKind::Prepend) {
        prepended_ = normalizer_.steps.back().to;
        rewriter_.steps.pop_back();
        rewriter_.groups.pop_back();  // it looks at a whole text, so it is a group of its own
    }
    max_id_ = vocab_.token_count() - 1;
    for (const split::AddedToken& token : added_.tokens) {
        max_id_ = std::max(max_id_, token.id);
    }
    if (max_id_ > vocab::kIdMask) {
        throw Error(ErrorCode::CorruptModel, "compiled model: an id beyond 2^20");
    }
}

Model::~Model() {
    for (auto& slot : idle_) {
        delete slot.exchange(nullptr);
    }
    delete token_sizes_.load();
    delete safe_cuts_.load();
    delete shared_.load();  // after the workers, which use them
    for (const Retired* at = retired_.load(); at != nullptr;) {
        const std::unique_ptr<const Retired> gone(at);
        at = gone->next;
    }
}

void Model::set_up(Worker& worker, const Options& options) const {
    worker.set_stop(options.stop);
    const SpanUnit unit = options.spans;
    const std::vector<std::uint8_t>* sizes = token_sizes_.load(std::memory_order_acquire);
    if (unit != SpanUnit::None && sizes == nullptr) {
        // The first thread wins. No lock, so that a fork in the middle is harmless.
        auto made = std::make_unique<std::vector<std::uint8_t>>(token_sizes(vocab_));
        if (token_sizes_.compare_exchange_strong(sizes, made.get())) {
            sizes = made.release();
        }
    }
    const bool has_drops =
        unit != SpanUnit::None && vocab_.kind() == vocab::ModelKind::Bytes && vocab_.drops_bytes();
    worker.spans.begin(unit, trim_, sizes == nullptr ? nullptr : sizes->data(), has_drops);
    const Words kind = whole_ranges_ ? Words::Ranges : Words::Units;
    worker.spans.words.kind = options.words ? kind : Words::None;
    worker.spans.words.skips_empty = vocab_.scalars().drop_white != 0;
}

const SafeCuts& Model::safe_cuts() const {
    const SafeCuts* cuts = safe_cuts_.load(std::memory_order_acquire);
    if (cuts == nullptr) {
        auto made = std::make_unique<SafeCuts>(*this);
        if (safe_cuts_.compare_exchange_strong(cuts, made.get())) {
            cuts = made.release();  // the first thread wins
        }
    }
    return *cuts;
}

std::size_t Model::most_ids(const Text& text) const noexcept {
    return utf8_bound(text) + prefix_.size() + suffix_.size() + 1;
}

// Threads may compute it at the same time: they find the same.
Hash128 Model::fingerprint() const noexcept {
    if (!has_fingerprint_.load(std::memory_order_acquire)) {
        const Hash128 found = HashKey().hash(blob_.bytes());
        fingerprint_[0].store(found.low, std::memory_order_relaxed);
        fingerprint_[1].store(found.high, std::memory_order_relaxed);
        has_fingerprint_.store(true, std::memory_order_release);
    }
    return {fingerprint_[0].load(std::memory_order_relaxed),
            fingerprint_[1].load(std::memory_order_relaxed)};
}

// Any idle worker will do: each has the same vocabulary and only other words in its tables.
Worker* Model::take_worker() const {
    const std::size_t begin = first_slot();
    for (std::size_t i = 0; i < idle_.size(); ++i) {
        auto& slot = idle_[(begin + i) % idle_.size()];
        if (slot.load(std::memory_order_relaxed) != nullptr) {
            if (Worker* worker = slot.exchange(nullptr, std::memory_order_acquire)) {
                return worker;
            }
        }
    }
    auto worker = std::make_unique<Worker>(vocab_, split_, facts_.data(), *kernel_, tables_,
                                           counters_.take());
    made_.fetch_add(1);
    return worker.release();
}

encode::SharedTables* Model::shared_tables(std::size_t threads) const {
    if (threads == 1 && made_.load(std::memory_order_relaxed) < 2) {
        return nullptr;
    }
    encode::SharedTables* shared = shared_.load();  // in order with made_: see release()
    if (shared == nullptr) {
        auto made = std::make_unique<encode::SharedTables>(vocab_, tables_.bits);
        if (shared_.compare_exchange_strong(shared, made.get())) {
            shared = made.release();  // the first thread wins
        }
    }
    return shared;
}

void Model::give_back(Worker* worker) const noexcept {
    worker->reset();
    put_back(worker);
}

void Model::put_back(Worker* worker) const noexcept {
    const std::size_t begin = first_slot();
    for (std::size_t i = 0; i < idle_.size(); ++i) {
        auto& slot = idle_[(begin + i) % idle_.size()];
        Worker* expected = nullptr;
        if (slot.compare_exchange_strong(expected, worker, std::memory_order_release)) {
            return;
        }
    }
    remove(worker);  // more threads at once than we keep workers for
}

void Model::remove(Worker* worker) const noexcept {
    worker->publish();
    delete worker;
    made_.fetch_sub(1);
}

std::span<const TokenId> Model::Lease::encode(const Text& text, const Options& options) {
#if TOKENMILL_SLOWED
    const Slowed slowed;
#endif
    worker_->reserve(0);
    worker_->clear();
    if (options.stop != nullptr) {
        worker_->set_stop(options.stop);
    }
    BatchSink sink(*worker_);
    DocumentReader(model_, *worker_, options, sink).read(text, Error::kNowhere);
    worker_->end_document();
    worker_->flush();
    return {worker_->first(), worker_->written()};
}

// Takes each idle worker for a moment, so that nobody uses it meanwhile. Another one may have come
// to its slot in that moment.
template <typename Do>
void Model::for_each_idle(const Do& look) const {
    for (auto& slot : idle_) {
        if (Worker* worker = slot.exchange(nullptr, std::memory_order_acquire)) {
            look(*worker);
            Worker* expected = nullptr;
            if (!slot.compare_exchange_strong(expected, worker, std::memory_order_release)) {
                put_back(worker);
            }
        }
    }
}

// Short calls publish nothing: that would cost more than counting.
CounterValues Model::counters() const noexcept {
    for_each_idle([](Worker& worker) { worker.publish(); });
    return counters_.total();
}

MemoryUse Model::memory() const noexcept {
    MemoryUse use{blob_.size_bytes(),
                  0,
                  spare_bytes(),
                  0,
                  0,
                  made_.load(),
                  encode::WordTables::bytes_of(vocab_, tables_.bits)};
    for_each_idle([&](const Worker& worker) {
        use.tables += worker.encoder.tables.size_bytes();
        use.buffers += worker.buffer_bytes();
        use.scratch += worker.scratch_bytes();
    });
    if (encode::SharedTables* shared = shared_.load(std::memory_order_acquire)) {
        use.shared = shared->size_bytes();
        use.tables += use.shared;
    }
    return use;
}

// A worker is counted in made_ before it looks for shared tables, and here they are taken away
// before made_ is read: so either no worker has them, or made_ tells of it.
std::size_t Model::release() const {
    std::size_t bytes = 0;
    for (auto& slot : idle_) {
        if (Worker* worker = slot.exchange(nullptr, std::memory_order_acquire)) {
            bytes += worker->encoder.tables.size_bytes() + worker->buffer_bytes();
            remove(worker);
        }
    }
    auto retired = std::make_unique<Retired>();
    retired->tables.reset(made_.load() == 0 ? shared_.exchange(nullptr) : nullptr);
    if (retired->tables == nullptr) {
        return bytes;
    }
    if (made_.load() == 0) {
        return bytes + retired->tables->size_bytes();
    }
    encode::SharedTables* none = nullptr;
    if (shared_.compare_exchange_strong(none, retired->tables.get())) {
        std::ignore = retired->tables.release();  // put back
        return bytes;
    }
    Retired* const kept = retired.release();
    kept->next = retired_.load();
    while (!retired_.compare_exchange_weak(kept->next, kept)) {
    }
    return bytes;
}

}  // namespace tokenmill::pipeline
