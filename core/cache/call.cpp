// call: one text on its way through the cache.
#include <algorithm>
#include <iterator>

#include "cache/cache.h"
#include "cache/packed.h"
#include "cache/record.h"

namespace tokenmill::cache {

namespace {

// Longer segments are left to threads, which are faster than a look-up would be worth.
constexpr std::size_t kLongestSegment = pipeline::kBigDocument;

}  // namespace

bool Call::is_worth(SegmentCache& cache, const pipeline::Model& model, const pipeline::Text& text) {
    if (text.size < cache.settings().min_bytes) {
        return false;
    }
    ModelBook* const book = cache.book_of(model);
    if (book == nullptr) {
        return false;
    }
    if (!cache.settings().switches_off || book->memory.asks()) {
        return true;
    }
    Counts one;
    one.plain = 1;
    book->add(one);
    return false;
}

Call::Call(SegmentCache& cache, const pipeline::Model& model, const pipeline::Text& text,
           const pipeline::Options& options)
    : cache_(cache),
      model_(model),
      options_(options),
      book_(*cache.book_of(model)),
      generation_(cache.generation_.load(std::memory_order_acquire)),
      encoder_(model, text, options_) {
    look_up();
}

// Only what can matter, so that more calls share an entry: the mode decides about tokens that are
// found after normalizing, the place about a blank in front of the first text.
std::uint32_t Call::flags_of(const split::Segment& segment) const noexcept {
    const bool is_first =
        segment.begin == 0 && model_.prefix_space() == pipeline::PrefixSpace::First;
    const auto mode =
        model_.added().normal.empty() ? 0U : static_cast<std::uint32_t>(options_.special);
    return (is_first ? std::uint32_t{kFirst} : 0U) |
           (encoder_.continues(segment) ? std::uint32_t{kContinues} : 0U) | mode << kModeShift;
}

void Call::look_up() {
    const Seconds begin = now();
    if (cache_.settings().cut_bytes != 0) {  // a text grows at its end only
        encoder_.cut_last(cache_.settings().cut_bytes);
    }
    const auto segments = encoder_.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const split::Segment& segment = segments[i];
        const std::size_t size = segment.end - segment.begin;
        if (segment.token != 0 || size < cache_.settings().min_bytes) {
            continue;
        }
        if (size > kLongestSegment) {
            uncached_bytes_ += size;
            continue;
        }
        const SegmentKey key{book_.model, flags_of(segment), encoder_.text_of(segment)};
        LongSegment piece{i, cache_.hash_of(key), key, nullptr};
        EntryRef entry = cache_.shard_of(piece.hash).find(piece.hash);
        if (entry != nullptr && entry->generation() == generation_) {
            if (entry->is_of(key)) {
                piece.entry = std::move(entry);
                ++counts_.hits;
                counts_.hit_bytes += size;
                counts_.hit_tokens += piece.entry->id_count();
            } else {
                ++counts_.collisions;
            }
        }
        if (piece.entry == nullptr) {
            missing_.push_back(pieces_.size());
        }
        pieces_.push_back(std::move(piece));
    }
    counts_.lookups = pieces_.size();
    spent_ = now() - begin;
}

bool Call::is_for_threads() {
    std::size_t bytes = uncached_bytes_;
    for (const std::size_t i : missing_) {
        bytes += pieces_[i].key.text.size();
    }
    if (bytes < kLongestSegment) {
        return false;
    }
    Counts one;
    one.long_texts = 1;
    book_.add(one);
    return true;
}

std::vector<Call::Missing> Call::missing() {
    asked_.clear();
    std::copy_if(missing_.begin(), missing_.end(), std::back_inserter(asked_), [&](std::size_t i) {
        return pieces_[i].key.text.size() >= cache_.settings().other_bytes;
    });
    std::vector<Missing> found;
    if (asked_.empty() || (cache_.settings().switches_off && !book_.other.asks())) {
        return found;
    }
    for (const std::size_t i : asked_) {
        found.push_back({pieces_[i].hash, pieces_[i].key});
    }
    counts_.other_lookups = found.size();
    return found;
}

bool Call::give(std::size_t i, Bytes record) {
    LongSegment& piece = pieces_[asked_[i]];
    ReadRecord read = read_record(record, piece.key, model_.max_id(), generation_);
    if (read.entry == nullptr) {
        counts_.other_damaged += read.fault == RecordFault::Damaged ? 1 : 0;
        return false;
    }
    cache_.shard_of(piece.hash).insert(piece.hash, read.entry);
    ++counts_.other_hits;
    counts_.other_hit_tokens += read.entry->id_count();
    piece.entry = std::move(read.entry);
    piece.is_other = true;
    return true;
}

void Call::other_took(Seconds seconds) {
    other_spent_ += seconds;
}

// One hit in `verify`, and the first ones of a model whose speed is not known yet: what they save
// would not be known.
bool Call::is_checked() noexcept {
    const std::uint32_t every = cache_.settings().verify;
    if (!book_.rate.is_known()) {
        return true;
    }
    return every != 0 &&
           book_.hits_until_check.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
}

std::span<const TokenId> Call::encode(const LongSegment& piece) {
    const std::size_t before = encoder_.ids().size();
    const Seconds begin = now();
    encoder_.add(encoder_.segments()[piece.segment]);
    const auto ids = encoder_.ids();
    book_.rate.learn(piece.key.text.size(), now() - begin);
    return ids.subspan(before);
}

// The engine's ids are the ones that are used, whatever the entry says.
void Call::check(const LongSegment& piece) {
    const auto ids = encode(piece);
    std::vector<TokenId> known(piece.entry->id_count() + 8);
    piece.entry->unpack(known.data());
    known.resize(piece.entry->id_count());
    ++counts_.checked;
    if (!std::equal(ids.begin(), ids.end(), known.begin(), known.end())) {
        ++counts_.differences;
        cache_.clear();
    }
}

void Call::put_known(const LongSegment& piece) {
    if (is_checked()) {
        check(piece);
        return;
    }
    static_cast<void>(encoder_.ids());  // what was added before is not ours to count
    const Seconds begin = now();
    piece.entry->unpack(encoder_.put(piece.entry->id_count()));
    spent_ += now() - begin;
    const auto size = static_cast<double>(piece.key.text.size());
    (piece.is_other ? other_avoided_ : avoided_) += size * book_.rate.per_byte();
}

void Call::encode_and_store(const LongSegment& piece) {
    const auto ids = encode(piece);
    const Seconds begin = now();
    auto entry = std::make_shared<const SegmentEntry>(piece.key, ids, bits_for(model_.max_id()),
                                                      generation_);
    cache_.shard_of(piece.hash).insert(piece.hash, entry);
    if (piece.key.text.size() >= cache_.settings().other_bytes) {
        stored_.push_back({piece.hash, std::move(entry)});
    }
    ++counts_.stored;
    spent_ += now() - begin;
}

std::vector<Call::Missing> Call::segments() const {
    std::vector<Missing> found;
    found.reserve(pieces_.size());
    for (const LongSegment& piece : pieces_) {
        found.push_back({piece.hash, piece.key});
    }
    return found;
}

void Call::store(const Hash128& wanted) {
    for (const std::size_t i : missing_) {
        if (pieces_[i].hash == wanted) {
            encode_and_store(pieces_[i]);
            Counts one;
            one.stored = 1;
            book_.add(one);
            return;  // a text may hold it twice
        }
    }
}

// A thread that lost its core in the middle seems to have spent milliseconds. Looking up is never
// really slower than twice encoding, unless the text is so short that nobody should: still a loss.
Seconds Call::believable(Seconds spent) const noexcept {
    std::size_t bytes = 0;
    for (const LongSegment& piece : pieces_) {
        bytes += piece.key.text.size();
    }
    const Seconds most = 2 * static_cast<double>(bytes) * book_.rate.per_byte();
    return most > 0 ? std::min(spent, most) : spent;
}

std::span<const TokenId> Call::finish() {
    std::size_t next = 0;
    const auto segments = encoder_.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (next == pieces_.size() || pieces_[next].segment != i) {
            encoder_.add(segments[i]);
            continue;
        }
        check_stop(options_.stop);
        const LongSegment& piece = pieces_[next++];
        if (piece.entry != nullptr) {
            put_known(piece);
        } else {
            encode_and_store(piece);
        }
    }
    const auto ids = encoder_.finish();
    // A text without a long segment counts as a look-up, too: it cost time for nothing.
    const std::uint64_t lookups = std::max<std::uint64_t>(counts_.lookups, 1);
    book_.memory.add(static_cast<std::uint32_t>(lookups), avoided_ - believable(spent_));
    if (counts_.other_lookups != 0) {
        book_.other.add(static_cast<std::uint32_t>(counts_.other_lookups),
                        other_avoided_ - other_spent_);
    }
    book_.add(counts_);
    return ids;
}

}  // namespace tokenmill::cache
