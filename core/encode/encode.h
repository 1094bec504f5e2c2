// encode: byte ranges of words -> token ids. Words are gathered into batches; a batch is answered
// from the word tables, and only words that they lack are merged. Exact in every state of the
// tables. The batch loop is text compiled once per target (encode-inl.h); the rare cases are
// compiled here.
#pragma once

#include <span>
#include <vector>

#include "base/stage_clock.h"
#include "base/stop.h"
#include "base/types.h"
#include "encode/long_word.h"
#include "encode/look_up.h"
#include "encode/merge.h"
#include "encode/repeats.h"
#include "encode/sentence.h"
#include "encode/shared.h"
#include "encode/tables.h"
#include "encode/unit.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// Ids of a batch that fit nowhere else. Unlike a vector, it does not zero the room it gets.
class SideIds {
public:
    [[nodiscard]] const std::uint32_t* data() const noexcept { return ids_.data(); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    void clear() noexcept { count_ = 0; }
    // Room for `more` ids after all others; take() makes some of them count.
    [[nodiscard]] std::uint32_t* room(std::size_t more) {
        if (ids_.size() - count_ < more + kIdsAtOnce) {
            ids_.resize(2 * (count_ + more) + kIdsAtOnce);
        }
        return ids_.data() + count_;
    }
    void take(std::size_t more) noexcept { count_ += more; }

private:
    std::vector<std::uint32_t> ids_;
    std::size_t count_ = 0;
};

constexpr std::uint32_t kUnitsOfBatch = 512;
// While many words are new: more of them are merged in step then, so that none waits alone.
constexpr std::uint32_t kUnitsOfNewBatch = 2048;
// A block adds 64 units and writes 16 more, look-ahead reads 104.
constexpr std::uint32_t kUnitCapacity = kUnitsOfNewBatch + 320;

// Units of a batch that the table of 8-byte words cannot know, by the table that may know them.
// Columns as those of WordEncoder.
struct LongerUnits {
    std::uint16_t in16[kUnitCapacity];
    std::uint16_t others[kUnitCapacity];  // sorted into the next three
    std::uint16_t in32[kUnitCapacity];
    std::uint16_t rest[kUnitCapacity];
    std::uint16_t unknown[kUnitCapacity];  // need no table
    std::uint64_t key16[2 * kUnitCapacity];
    std::uint32_t line16[kUnitCapacity];
    std::uint32_t set32[kUnitCapacity];
    std::uint32_t asked16 = 0;       // the lines of so many of `in16` were asked for
    std::uint32_t asked_others = 0;  // so many of `others` are sorted
    std::uint32_t n16 = 0;
    std::uint32_t n_others = 0;
    std::uint32_t n32 = 0;
    std::uint32_t n_rest = 0;
    std::uint32_t n_unknown = 0;

    [[nodiscard]] std::uint32_t count() const noexcept { return n16 + n_others; }
    void clear() noexcept {
        asked16 = asked_others = n16 = n_others = n32 = n_rest = n_unknown = 0;
    }
};

// One worker's state; not shared between threads. Borrows the vocabulary, owns everything else.
//
// The arrays are the batch, a column each. The text compiled per target (units-inl.h, encode-inl.h,
// misses-inl.h) fills and reads them; others only reset them through end_batch() and drop_batch().
//
//   unit    i     0          1              2
//   text          "the"      " encyclopedia" (known id)
//   key           t h e 0..  0              0            0: not in the table of 8-byte words
//   longer                   1                           looked up in the other tables
//   value         id 262     ids 31, 4079   from Worker::fixed
struct WordEncoder {
    // Starts with small tables; `bits` are the sizes of the large ones.
    WordEncoder(const vocab::VocabView& vocabulary, const TableBits& bits);

    static constexpr std::uint32_t kCapacity = kUnitCapacity;

    static constexpr std::size_t kSideIds = 4096;  // a batch with more is answered at once

    // The value of a unit that no table knows, one at a time.
    [[nodiscard]] std::uint64_t resolve(Unit unit);
    // Must a text stay one word, of any length?
    [[nodiscard]] bool is_whole_text() const noexcept { return vocab.scalars().whole_text != 0; }
    // The same for many units, in vocabularies whose words are looked up and not merged.
    void look_up_missing(std::span<const std::uint16_t> missing);
    // All units of the batch are answered and written: forgets them, and remembers where the word
    // started that the next batch may continue.
    void end_batch() noexcept;
    // Forgets the batch, answered or not.
    void drop_batch() noexcept;
    // From small tables to large ones, with their words: to those of `shared`, unless it is null or
    // they are being made at this moment; then it is worth another try later. From shared ones that
    // are full to tables of its own.  Needs: an empty batch.
    void grow_tables();
    [[nodiscard]] bool has_small_tables() const noexcept { return has_small_tables_; }
    // Is it time to answer the batch?
    [[nodiscard]] bool is_batch_full() const noexcept {
        return count >= batch || side.count() >= kSideIds;
    }
    // So many units of the last batch were in no table.
    void choose_batch(std::uint32_t n_missing) noexcept {
        batch = n_missing * 64 > count ? kUnitsOfNewBatch : kUnitsOfBatch;
    }
    // Can the word be merged from its bytes as they are?
    [[nodiscard]] bool is_plain(Bytes word) const noexcept;
    // The symbols of a word over characters, to `symbols`; false where one has no internal id.
    [[nodiscard]] bool start_known(Unit unit);
    // Answers a unit without merging, if it is in another line or in the ring, or is a token that
    // merging cannot build.
    [[nodiscard]] bool answer_unmerged(Unit unit, std::uint64_t& value);
    // Keeps the internal ids of a merged word in a table; makes them external in place.
    [[nodiscard]] std::uint64_t keep_merged(Unit unit, std::uint32_t* ids, std::uint32_t count);
    [[nodiscard]] std::uint64_t side_value(const std::uint32_t* ids, std::uint32_t count);
    // Ids of a word or piece longer than kLongestUnit bytes, to `long_ids`; `cuts` as in a unit.
    // Needs: an empty batch.
    void encode_giant(Bytes word, std::uint64_t cuts);
    // From now on a batch and a long word end early, with an Error, when it is due. Null: never.
    void set_stop(const Stop* wanted) noexcept;
    [[nodiscard]] const Stop* stop() const noexcept { return stop_; }
    // The parts of a word that its ids stand for. Needs: at least one id.
    void find_parts(Bytes word, std::span<const TokenId> ids, std::vector<WordPart>& parts);

    const vocab::VocabView& vocab;
    PendingCounts counters;
    StageClock clock;
    WordTables tables;
    SharedTables* shared = nullptr;  // set while there are other workers
    LongMerger merger;
    WordLookUp words;
    SentenceLookUp sentences;

    alignas(64) std::uint64_t key[kCapacity];  // 0: longer than 8 bytes, or not to be looked up
    alignas(64) std::uint64_t value[kCapacity];
    alignas(64) Unit unit[kCapacity];
    alignas(64) std::uint32_t line[kCapacity];    // first byte of the line in the 8-byte table
    alignas(64) std::uint16_t longer[kCapacity];  // units of more than 8 bytes in no list yet
    std::uint32_t count = 0;
    std::uint32_t longer_count = 0;
    std::uint32_t batch = kUnitsOfBatch;  // units that are answered together
    std::uint32_t first_asked = 0;        // so many units were asked for while they were gathered
    LongerUnits longer_units;

    SideIds side;
    std::vector<std::uint32_t> long_ids;      // scratch
    std::vector<std::uint32_t> symbols;       // scratch
    std::vector<std::uint16_t> unsure;        // units that depend on the text before them
    const std::uint8_t* open_word = nullptr;  // start of the word that the last batch ended within

private:
    void count_merged(Bytes word) noexcept {
        counters.add(Tally::Merged, 1);
        counters.add_bytes(WorkStage::Merge, word.size());
    }
    // For words of up to 32 bytes, a second look.
    [[nodiscard]] bool answer_from_tables(Bytes word, std::uint64_t& answer);
    void encode_giant_now(Bytes word, std::uint64_t cuts);
    void encode_word(Bytes word);  // external ids to long_ids
    void answer_unsure();
    [[nodiscard]] const std::uint8_t* word_begin(std::uint32_t index) const noexcept;
    [[nodiscard]] std::uint64_t value_within(Bytes word, Unit piece);
    void remember(Bytes word, const std::uint32_t* ids, std::uint32_t count_of_ids);
    void put_word(Bytes word, std::uint64_t packed) noexcept;
    std::uint64_t resolve_ambiguous(Bytes word, bool piece, TokenId whole);

    static constexpr std::uint32_t kMostTries = 64;  // a forked child may wait in vain

    [[nodiscard]] SharedTables::Opened open_shared() noexcept;

    TableBits large_bits_;
    const Stop* stop_ = nullptr;
    std::uint32_t tries_ = 0;
    bool has_small_tables_ = true;
};

}  // namespace tokenmill::encode
