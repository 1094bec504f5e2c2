// encode: bytes of a word -> packed ids, the tables of one worker. Their size is fixed, and they
// are never wiped. The ids do not depend on what the tables hold. A worker starts with small tables
// and takes large ones once, of its own or shared with other workers (encode/shared.h).
//
// A word belongs to one line (or set of lines) by its hash. When that is full, a new word replaces
// one of its words, which moves to the line next to it and replaces another one there:
//
//   line    2k       2k + 1
//   words   a b      c d        e belongs to line 2k
//   words   a e      c b        a look-up that misses in line 2k looks for b in line 2k + 1, and
//   words   a b      c e        lets it change places with a word of its own line
//
// So the common way reads one line, and still few words that come again are lost.
#pragma once

#include <memory>

#include "base/buffer.h"
#include "base/platform.h"
#include "base/types.h"
#include "encode/used_pages.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// A number of a line that another worker may be filling: what is read later was written earlier.
template <typename Number>
[[nodiscard]] inline Number peek(const Number& number) noexcept {
    return load_acquire(number);
}

// The same for a number whose place was found by comparing keys, so that it cannot be read before
// them. x86 keeps the order of reads; without the barrier for the compiler, the loop over a batch
// is 2 % faster.
template <typename Number>
[[nodiscard]] inline Number peek_found(const Number& number) noexcept {
#if TOKENMILL_X86_64 && !defined(__SANITIZE_THREAD__)
    return load_relaxed(number);
#else
    return peek(number);
#endif
}

// Words of 1..8 bytes, zero-padded; key 0 is free. No value is 0: a word without ids has kNoIds.
struct Line8 {
    std::uint64_t key[4];
    std::uint64_t value[4];

    // The first byte of a line in its table is a hash, shifted right, without the last bits.
    static constexpr std::uint64_t kFirstByte = ~std::uint64_t{63};
    [[nodiscard]] static unsigned shift_of(unsigned bits) noexcept { return 64 - 6 - bits; }
};
static_assert(sizeof(Line8) == 64);
constexpr std::uint64_t kNoIds = 1;  // a count of 0, and something after it
// Words of 9..16 bytes, zero-padded; value 0 is free.
struct alignas(64) Line16 {
    std::uint64_t key[4];  // two slots of two numbers
    std::uint64_t value[2];
    std::uint64_t unused[2];

    // The slot with this key, or 2.
    [[nodiscard]] std::uint32_t find(std::uint64_t low, std::uint64_t high) const noexcept {
        std::uint32_t slot = 0;
        while (slot < 2 && !has(slot, low, high)) {
            ++slot;
        }
        return slot;
    }
    // The upper half comes last, and is 0 in no key.
    [[nodiscard]] bool has(std::size_t slot, std::uint64_t low, std::uint64_t high) const noexcept {
        return peek(key[2 * slot + 1]) == high && peek(key[2 * slot]) == low;
    }
    void set(std::size_t slot, std::uint64_t low, std::uint64_t high,
             std::uint64_t new_value) noexcept {
        key[2 * slot] = low;
        key[2 * slot + 1] = high;
        value[slot] = new_value;
    }
};
// Words of 17..32 bytes as their first and last 16 bytes; header 0 is free.
struct Line32 {
    std::uint64_t key[4];
    std::uint32_t header;  // size << 8 | count of ids
    std::uint32_t ids[7];
};
// Longer words, and those with more ids: the record (bytes, then ids) lies in a ring.
struct LongEntry {
    std::uint64_t position;  // of the record, counted from the first byte ever written; 0 is free
    std::uint32_t tag;
    std::uint16_t size;
    std::uint16_t count;
};

// Ids are copied eight at a time: so many may be read after the last one.
constexpr std::size_t kIdsAtOnce = 8;

struct TableBits {
    unsigned words8 = 17;   // 2^17 lines of 64 bytes
    unsigned words16 = 18;  // 16 MiB: what English keeps of words of 9 to 16 bytes
    unsigned words32 = 15;  // 2^15 sets of 128 bytes
    unsigned long_words = 14;
    unsigned ring = 22;   // 4 MiB
    unsigned store = 20;  // ids of values that do not fit inline
};

class SharedTables;
struct WordTables;

// One worker's part in tables that are shared: it leaves them when it is done.
class SharedView {
public:
    SharedView() = default;
    // Needs: SharedTables::open() said yes.
    explicit SharedView(SharedTables& of) noexcept;
    ~SharedView();
    SharedView(SharedView&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), is_copied_(other.is_copied_) {}
    SharedView& operator=(SharedView&& other) noexcept {
        std::swap(of_, other.of_);
        std::swap(is_copied_, other.is_copied_);
        return *this;
    }
    SharedView(const SharedView&) = delete;
    SharedView& operator=(const SharedView&) = delete;

    // See SharedTables; the view is empty after adopt(), if that was possible.
    // Needs: a view that is not empty.
    [[nodiscard]] std::unique_ptr<WordTables> adopt() noexcept;
    [[nodiscard]] bool begin_copy() noexcept;
    [[nodiscard]] SharedTables* operator->() const noexcept { return of_; }
    [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

private:
    SharedTables* of_ = nullptr;
    bool is_copied_ = false;
};

struct WordTables {
    // Starts with the words that the vocabulary knows in advance. Touches most pages of two tables,
    // which takes milliseconds: a few short texts do not win them back.
    WordTables(const vocab::VocabView& vocab, TableBits wanted);
    // Empty tables of 600 KB at most, in pages that cost nothing until a word needs them.
    [[nodiscard]] static WordTables make_small(const TableBits& largest) {
        return {small_bits(largest), std::size_t{0}};
    }

    // Without the words that the vocabulary knows: only their ids are there.
    [[nodiscard]] static WordTables make_unseeded(const vocab::VocabView& vocab,
                                                  const TableBits& sizes);

    // Lines that are shared, with a ring of its own.  Needs: SharedTables::open() said yes.
    explicit WordTables(SharedTables& of);
    // Should the worker take tables of its own, with the words of these?
    [[nodiscard]] bool are_full() const noexcept { return view && is_view_full(); }
    // Takes them; false if that would make more tables than there are workers, so that it is worth
    // another try later. Needs: full tables.
    [[nodiscard]] bool leave_shared(const vocab::VocabView& vocab, bool at_any_price);

    static constexpr std::uint32_t kLongest = 1024;  // bytes of the longest word that is kept

    // What tables of these sizes would take, all pages touched.
    [[nodiscard]] static std::size_t bytes_of(const vocab::VocabView& vocab,
                                              const TableBits& sizes) noexcept;
    // Keeps the words of smaller tables, too; not those in the ring.
    void put_words_of(const WordTables& smaller) noexcept;

    [[nodiscard]] std::size_t size_bytes() const noexcept;
    // Stores ids that a value refers to; false if the store is full, which is not an error.
    bool store(std::uint32_t tag, const std::uint32_t* ids, std::uint32_t count,
               std::uint64_t& value) noexcept;

    // A guess that errs towards true: words whose ids found no place may be in the ring.
    [[nodiscard]] bool is_store_full() const noexcept;

    // The value of a word that its own line lacked when it was probed: it may be in the line next
    // to that one, or be new.
    [[nodiscard]] bool find8(std::uint64_t key, std::uint64_t& value) noexcept;
    [[nodiscard]] bool find16(std::uint64_t low, std::uint64_t high, std::uint64_t& value) noexcept;
    // The same for words of 17..32 bytes: their line, or null.
    [[nodiscard]] const Line32* find32(const std::uint64_t key[4], std::uint32_t size) noexcept;
    // The set where a word can be found: that of its hash, or the empty one after the last if no
    // word is near.
    [[nodiscard]] std::uint32_t set_to_read(std::uint64_t hash) const noexcept {
        const auto set = static_cast<std::uint32_t>(hash >> (64 - bits.words32));
        return used32.has(2 * sizeof(Line32) * set) ? set : std::uint32_t{1} << bits.words32;
    }

    void put8(std::uint64_t key, std::uint64_t value) noexcept;
    void put16(std::uint64_t low, std::uint64_t high, std::uint64_t value) noexcept;
    void put32(const std::uint64_t key[4], std::uint32_t size, const std::uint32_t* ids,
               std::uint32_t count) noexcept;
    void put_long(Bytes word, std::uint64_t hash, const std::uint32_t* ids,
                  std::uint32_t count) noexcept;
    // The ids of a long word, or null.
    [[nodiscard]] const std::uint32_t* find_long(Bytes word, std::uint64_t hash,
                                                 std::uint32_t& count) const noexcept;

    TableBits bits;
    PageBuffer memory8;
    PageBuffer memory16;
    PageBuffer memory32;
    PageBuffer memory_long;
    PageBuffer memory_ring;
    PageBuffer memory_stored;
    std::size_t stored_room = 0;
    std::size_t stored_count = 0;
    std::uint32_t* stored = nullptr;
    Line8* lines8 = nullptr;
    Line16* lines16 = nullptr;
    Line32* lines32 = nullptr;  // sets of two lines
    UsedPages used32;
    LongEntry* entries = nullptr;  // sets of four
    UsedPages used_long;
    std::uint64_t ring_head = 64;
    std::uint32_t turn = 0;     // which word of a full line is replaced next
    std::uint64_t evicted = 0;  // words that lost their place, until somebody counts them
    SharedView view;            // empty if all lines are its own

private:
    [[nodiscard]] bool is_view_full() const noexcept;
    void swap_ring(WordTables& other) noexcept;
    [[nodiscard]] static std::size_t ring_bytes(const TableBits& sizes) noexcept;
    friend class SharedTables;
    // The same in lines that are shared, which are only filled (encode/shared.h). False if the word
    // found no place.
    [[nodiscard]] bool share8(std::uint64_t key, std::uint64_t value) noexcept;
    [[nodiscard]] bool share16(std::uint64_t low, std::uint64_t high, std::uint64_t value) noexcept;
    void share32(const std::uint64_t key[4], std::uint32_t size, const std::uint32_t* ids,
                 std::uint32_t count) noexcept;
    [[nodiscard]] bool store_shared(std::uint32_t tag, const std::uint32_t* ids,
                                    std::uint32_t count, std::uint64_t& value) noexcept;
    // True if the word is there afterwards.
    [[nodiscard]] bool fill8(Line8& line, std::uint64_t key, std::uint64_t value) noexcept;
    [[nodiscard]] static bool fill16(Line16& line, std::uint64_t low, std::uint64_t high,
                                     std::uint64_t value) noexcept;
    [[nodiscard]] static bool fill32(Line32* set, const std::uint64_t key[4], std::uint32_t size,
                                     const std::uint32_t* ids, std::uint32_t count) noexcept;

    [[nodiscard]] Line8& line8_of(std::uint64_t key) noexcept;
    [[nodiscard]] std::uint32_t first_slot(const Line8& line) const noexcept;
    [[nodiscard]] std::uint32_t find_slot(const Line8& line, std::uint64_t key) const noexcept;
    [[nodiscard]] std::uint32_t slot_for(const Line8& line, std::uint64_t key) noexcept;
    [[nodiscard]] std::uint32_t slot_for(const Line16& line, std::uint64_t low,
                                         std::uint64_t high) noexcept;
    [[nodiscard]] Line8& line_next_to(const Line8& line) noexcept;
    [[nodiscard]] Line16& line16_of(std::uint64_t low, std::uint64_t high) noexcept;
    [[nodiscard]] Line16& line_next_to(const Line16& line) noexcept;
    [[nodiscard]] Line32* set32_of(const std::uint64_t key[4], std::uint32_t size) noexcept;
    [[nodiscard]] Line32* set_next_to(const Line32* set) noexcept;
    [[nodiscard]] std::size_t place32_of(const Line32* line) const noexcept {
        return static_cast<std::size_t>(line - lines32) * sizeof(Line32);
    }
    [[nodiscard]] static std::size_t bytes32_of(const TableBits& sizes) noexcept;
    WordTables(const TableBits& sizes, std::size_t seed_ids);
    [[nodiscard]] static TableBits small_bits(const TableBits& largest) noexcept;
};

// Key of a word of 17..32 bytes: unique together with the size.
inline void make_key32(const std::uint8_t* word, std::uint32_t size,
                       std::uint64_t key[4]) noexcept {
    std::memcpy(key, word, 16);
    std::memcpy(key + 2, word + size - 16, 16);
}

// The other way round: the bytes of the word.
inline void read_key32(const std::uint64_t key[4], std::uint32_t size,
                       std::uint8_t* word) noexcept {
    std::memcpy(word, key, 16);
    std::memcpy(word + size - 16, key + 2, 16);
}

[[nodiscard]] inline std::uint64_t hash_key32(const std::uint64_t key[4],
                                              std::uint32_t size) noexcept {
    return hash_pair(hash_pair(key[0] + size, key[1]), key[2] ^ (key[3] << 1 | key[3] >> 63));
}

[[nodiscard]] std::uint64_t hash_long(Bytes word) noexcept;

}  // namespace tokenmill::encode
