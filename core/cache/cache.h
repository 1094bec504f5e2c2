// cache: text -> ids, with the ids of segments that were seen before. A segment is the text between
// two added tokens; its ids depend on nothing else, so they are exactly what the engine would give.
// Only segments of `min_bytes` or more are looked up. Safe from any number of threads.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cache/entry.h"
#include "cache/shard.h"
#include "cache/worth.h"
#include "pipeline/pipeline.h"

namespace tokenmill::cache {

struct CacheSettings {
    std::size_t budget_bytes = 0;  // at first: texts, ids and all that is kept about them
    std::size_t min_bytes = 0;     // of a segment that is looked up, at least 1
    std::size_t cut_bytes = 0;     // a longer last segment is cut where safe; 0: never
    std::size_t other_bytes = 0;   // of a segment that another tier is asked for
    std::uint32_t verify = 0;      // one hit in so many is encoded again; 0: none
    std::uint64_t seed[2] = {};    // of the hash; secret
    bool switches_off = true;      // where it does not pay
};

// Counts of one model; all of them only grow.
struct Counts {
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;
    std::uint64_t hit_bytes = 0;
    std::uint64_t hit_tokens = 0;
    std::uint64_t stored = 0;
    std::uint64_t collisions = 0;  // another text with the same hash
    std::uint64_t checked = 0;
    std::uint64_t differences = 0;
    std::uint64_t other_lookups = 0;  // of the tier outside
    std::uint64_t other_hits = 0;
    std::uint64_t other_hit_tokens = 0;
    std::uint64_t other_damaged = 0;
    std::uint64_t plain = 0;       // calls that did not look up because it does not pay
    std::uint64_t long_texts = 0;  // calls that threads share instead
};

// What is known about one model.
struct ModelBook {
    explicit ModelBook(const Hash128& fingerprint) : model(fingerprint) {}

    const Hash128 model;
    EngineRate rate;
    Worth memory;
    Worth other;
    std::atomic<std::uint64_t> hits_until_check{0};
    // As Counts, in the same order.
    std::array<std::atomic<std::uint64_t>, sizeof(Counts) / sizeof(std::uint64_t)> counts{};

    // `delta` is what one call did.
    void add(const Counts& delta) noexcept;
    [[nodiscard]] Counts read() const noexcept;
};

class SegmentCache {
public:
    explicit SegmentCache(const CacheSettings& settings);
    ~SegmentCache();
    SegmentCache(const SegmentCache&) = delete;
    SegmentCache& operator=(const SegmentCache&) = delete;

    [[nodiscard]] const CacheSettings& settings() const noexcept { return settings_; }
    // Forgets everything; what calls store that began before is not believed.
    void clear();
    void resize(std::size_t budget_bytes);
    [[nodiscard]] std::size_t budget() const noexcept {
        return budget_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] ShardUse use();
    // Null where more models use it than it has books for: they are encoded plainly.
    [[nodiscard]] ModelBook* book_of(const pipeline::Model& model);
    [[nodiscard]] std::vector<const ModelBook*> books() const;
    void after_fork();

private:
    friend class Call;
    [[nodiscard]] Hash128 hash_of(const SegmentKey& key) const noexcept;
    [[nodiscard]] Shard& shard_of(const Hash128& hash) noexcept;

    static constexpr std::size_t kMostShards = 16;
    static constexpr std::size_t kShardBytes = std::size_t{4} << 20;  // worth a lock of its own
    static constexpr std::size_t kMostModels = 64;

    CacheSettings settings_;
    HashKey key_;
    std::atomic<std::uint64_t> generation_{1};
    std::atomic<std::size_t> budget_{0};
    std::size_t shard_count_;
    std::array<Shard, kMostShards> shards_;
    std::array<std::atomic<ModelBook*>, kMostModels> books_{};
};

// One text on its way through the cache, in the order of the methods. It borrows everything; the
// caller may ask another tier for what is missing in between.
class Call {
public:
    // A segment that the cache does not have.
    struct Missing {
        Hash128 hash;
        SegmentKey key;
    };
    // What the call has stored and another tier may store, too.
    struct Stored {
        Hash128 hash;
        EntryRef entry;
    };

    // Is there anything to look up? If not, the caller encodes plainly: no Call is needed.
    [[nodiscard]] static bool is_worth(SegmentCache& cache, const pipeline::Model& model,
                                       const pipeline::Text& text);

    // Looks up the segments. Throws the errors of the text.
    Call(SegmentCache& cache, const pipeline::Model& model, const pipeline::Text& text,
         const pipeline::Options& options);

    // So much text is missing that threads should share it: the caller encodes plainly.
    [[nodiscard]] bool is_for_threads();

    // What another tier may have; empty where asking it does not pay.
    [[nodiscard]] std::vector<Missing> missing();
    // A record of the other tier, for number `i` of what is missing. False: not believed.
    bool give(std::size_t i, Bytes record);
    // How long the other tier took for all of it.
    void other_took(Seconds seconds);

    // Encodes what is still missing; the ids stay until the call ends.
    [[nodiscard]] std::span<const TokenId> finish();
    [[nodiscard]] const std::vector<Stored>& stored() const noexcept { return stored_; }

    // Instead of finish(), to warm the cache: all segments that are long enough, and one of those
    // that are missing to be encoded and stored.
    [[nodiscard]] std::vector<Missing> segments() const;
    void store(const Hash128& wanted);

private:
    // A segment that is long enough.
    struct LongSegment {
        std::size_t segment;  // its number
        Hash128 hash;
        SegmentKey key;
        EntryRef entry;  // null if it is missing
        bool is_other = false;
    };

    void look_up();
    [[nodiscard]] std::uint32_t flags_of(const split::Segment& segment) const noexcept;
    [[nodiscard]] bool is_checked() noexcept;
    [[nodiscard]] std::span<const TokenId> encode(const LongSegment& piece);
    void put_known(const LongSegment& piece);
    void check(const LongSegment& piece);
    void encode_and_store(const LongSegment& piece);
    [[nodiscard]] Seconds believable(Seconds spent) const noexcept;

    SegmentCache& cache_;
    const pipeline::Model& model_;
    const pipeline::Options options_;
    ModelBook& book_;
    const std::uint64_t generation_;
    pipeline::SegmentEncoder encoder_;
    std::vector<LongSegment> pieces_;
    std::vector<std::size_t> missing_;  // numbers of pieces
    std::vector<std::size_t> asked_;    // those of them that another tier is asked for
    std::vector<Stored> stored_;
    std::size_t uncached_bytes_ = 0;  // of segments that are too long to be kept
    Counts counts_;
    Seconds avoided_ = 0;
    Seconds spent_ = 0;
    Seconds other_avoided_ = 0;
    Seconds other_spent_ = 0;
};

// An entry as bytes for another tier, and whether such bytes are as they were written.
[[nodiscard]] std::vector<std::uint8_t> record_of(const SegmentEntry& entry);
[[nodiscard]] bool is_whole_record(Bytes record);

}  // namespace tokenmill::cache
