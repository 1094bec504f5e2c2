// cache: the shards, and what is known about each model.
#include "cache/cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cache/record.h"

namespace tokenmill::cache {

namespace {

constexpr std::size_t kCounts = sizeof(Counts) / sizeof(std::uint64_t);

}  // namespace

void ModelBook::add(const Counts& delta) noexcept {
    std::uint64_t values[kCounts];
    std::memcpy(values, &delta, sizeof(delta));
    for (std::size_t i = 0; i < kCounts; ++i) {
        if (values[i] != 0) {
            counts[i].fetch_add(values[i], std::memory_order_relaxed);
        }
    }
}

Counts ModelBook::read() const noexcept {
    std::uint64_t values[kCounts];
    for (std::size_t i = 0; i < kCounts; ++i) {
        values[i] = counts[i].load(std::memory_order_relaxed);
    }
    Counts found;
    std::memcpy(&found, values, sizeof(found));
    return found;
}

// Few bytes get few locks: an entry must fit into the budget of one shard.
SegmentCache::SegmentCache(const CacheSettings& settings)
    : settings_(settings),
      key_(settings.seed[0], settings.seed[1]),
      shard_count_(std::bit_floor(
          std::clamp<std::size_t>(settings.budget_bytes / kShardBytes, 1, kMostShards))) {
    settings_.min_bytes = std::max<std::size_t>(settings_.min_bytes, 1);
    resize(settings.budget_bytes);
}

SegmentCache::~SegmentCache() {
    for (auto& slot : books_) {
        delete slot.load();
    }
}

Hash128 SegmentCache::hash_of(const SegmentKey& key) const noexcept {
    return key_.hash(key.text, {key.model.low, key.model.high + key.flags});
}

Shard& SegmentCache::shard_of(const Hash128& hash) noexcept {
    return shards_[hash.high & (shard_count_ - 1)];
}

// The number counts, not the shards: one that is busy is ignored until it is overwritten.
void SegmentCache::clear() {
    generation_.fetch_add(1, std::memory_order_release);
    for (std::size_t i = 0; i < shard_count_; ++i) {
        shards_[i].clear();
    }
}

void SegmentCache::resize(std::size_t budget_bytes) {
    budget_.store(budget_bytes, std::memory_order_relaxed);
    for (std::size_t i = 0; i < shard_count_; ++i) {
        shards_[i].set_budget(budget_bytes / shard_count_);
    }
}

ShardUse SegmentCache::use() {
    ShardUse sum;
    for (std::size_t i = 0; i < shard_count_; ++i) {
        const ShardUse one = shards_[i].use();
        sum.bytes += one.bytes;
        sum.entries += one.entries;
        sum.evictions += one.evictions;
        sum.refused += one.refused;
        sum.busy += one.busy;
    }
    return sum;
}

ModelBook* SegmentCache::book_of(const pipeline::Model& model) {
    const Hash128 fingerprint = model.fingerprint();
    for (auto& slot : books_) {
        ModelBook* book = slot.load(std::memory_order_acquire);
        if (book == nullptr) {
            auto made = std::make_unique<ModelBook>(fingerprint);
            if (slot.compare_exchange_strong(book, made.get(), std::memory_order_acq_rel)) {
                return made.release();
            }
        }
        if (book->model == fingerprint) {
            return book;
        }
    }
    return nullptr;
}

std::vector<const ModelBook*> SegmentCache::books() const {
    std::vector<const ModelBook*> found;
    for (const auto& slot : books_) {
        if (const ModelBook* book = slot.load(std::memory_order_acquire)) {
            found.push_back(book);
        }
    }
    return found;
}

void SegmentCache::after_fork() {
    for (Shard& shard : shards_) {
        shard.after_fork();
    }
}

std::vector<std::uint8_t> record_of(const SegmentEntry& entry) {
    return write_record(entry);
}

bool is_whole_record(Bytes record) {
    return check_record(record);
}

}  // namespace tokenmill::cache
