// encode: bytes of a word -> packed ids.
#include "encode/tables.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/platform.h"
#include "encode/shared.h"

namespace tokenmill::encode {

namespace {

// Only if most pages get a seed: a small vocabulary leaves most of them alone.
void touch_for_seeds(const PageBuffer& memory, std::size_t seeds) noexcept {
    constexpr std::size_t kPage = 4096;
    if (memory.span().pages == Pages::Large && seeds * kPage >= memory.size_bytes()) {
        memory.touch(0, memory.size_bytes());
    }
}

}  // namespace

// The two tables that every batch reads all over get large pages.
WordTables::WordTables(const TableBits& sizes, std::size_t seed_ids)
    : bits(sizes),
      memory8(sizeof(Line8) << sizes.words8, Pages::Large),
      memory16(sizeof(Line16) << sizes.words16, Pages::Large),
      memory32(bytes32_of(sizes)),
      memory_long((4 * sizeof(LongEntry)) << sizes.long_words),
      memory_ring(ring_bytes(sizes)),
      memory_stored((seed_ids + (std::size_t{1} << sizes.store) + kIdsAtOnce) *
                    sizeof(std::uint32_t)),
      stored_room(seed_ids + (std::size_t{1} << sizes.store)),
      stored_count(seed_ids),
      stored(memory_stored.as<std::uint32_t>()),
      lines8(memory8.as<Line8>()),
      lines16(memory16.as<Line16>()),
      lines32(memory32.as<Line32>()),
      used32(memory32.size_bytes()),
      entries(memory_long.as<LongEntry>()),
      used_long(memory_long.size_bytes()) {
    lines8[0].value[0] = kNoIds;  // of key 0
}

// One set more, which stays empty: see set_to_read().
std::size_t WordTables::bytes32_of(const TableBits& sizes) noexcept {
    return 2 * sizeof(Line32) * ((std::size_t{1} << sizes.words32) + 1);
}

WordTables WordTables::make_unseeded(const vocab::VocabView& vocab, const TableBits& sizes) {
    WordTables made(sizes, vocab.seed_ids.size());
    std::copy(vocab.seed_ids.begin(), vocab.seed_ids.end(), made.stored);
    return made;
}

WordTables::WordTables(const vocab::VocabView& vocab, TableBits wanted)
    : WordTables(make_unseeded(vocab, wanted)) {
    touch_for_seeds(memory8, vocab.seeds8.size());
    touch_for_seeds(memory16, vocab.seeds16.size());
    constexpr std::size_t kAhead = 16;  // lines that are asked for before they are needed
    for (std::size_t i = 0; i < vocab.seeds8.size(); ++i) {
        const vocab::Seed8& later = vocab.seeds8[std::min(i + kAhead, vocab.seeds8.size() - 1)];
        prefetch_to_write(&line8_of(later.key));
        put8(vocab.seeds8[i].key, vocab.seeds8[i].value);
    }
    for (std::size_t i = 0; i < vocab.seeds16.size(); ++i) {
        const vocab::Seed16& seed = vocab.seeds16[i];
        const vocab::Seed16& later = vocab.seeds16[std::min(i + kAhead, vocab.seeds16.size() - 1)];
        prefetch_to_write(&line16_of(later.key[0], later.key[1]));
        put16(seed.key[0], seed.key[1], seed.value);
    }
    evicted = 0;  // none was of a text
}

bool WordTables::is_store_full() const noexcept {
    const std::size_t used = view ? view->ids_taken() : stored_count;
    return used + 64 > stored_room;
}

// Measured: with smaller ones words replace each other before a megabyte is read.
TableBits WordTables::small_bits(const TableBits& largest) noexcept {
    return {std::min(largest.words8, 12U), std::min(largest.words16, 11U),
            std::min(largest.words32, 9U), std::min(largest.long_words, 8U),
            std::min(largest.ring, 17U),   std::min(largest.store, 14U)};
}

void WordTables::put_words_of(const WordTables& smaller) noexcept {
    // False if the ids of the value find no place here.
    const auto move_ids = [&](std::uint64_t& value) {
        const std::uint32_t* ids = smaller.stored + vocab::reference_position(value);
        return vocab::value_tag(value) != vocab::kTagStored ||
               store(vocab::kTagStored, ids, vocab::reference_count(value), value);
    };
    for (std::size_t i = 0; i < std::size_t{1} << smaller.bits.words8; ++i) {
        const Line8& line = smaller.lines8[i];
        for (std::size_t slot = 0; slot < 4; ++slot) {
            const std::uint64_t key = peek(line.key[slot]);
            std::uint64_t value = peek(line.value[slot]);
            if (key != 0 && move_ids(value)) {
                put8(key, value);
            }
        }
    }
    for (std::size_t i = 0; i < std::size_t{1} << smaller.bits.words16; ++i) {
        const Line16& line = smaller.lines16[i];
        for (std::size_t slot = 0; slot < 2; ++slot) {
            const std::uint64_t high = peek(line.key[2 * slot + 1]);
            std::uint64_t value = peek(line.value[slot]);
            if (high != 0 && move_ids(value)) {
                put16(peek(line.key[2 * slot]), high, value);
            }
        }
    }
    for (std::size_t i = 0; i < std::size_t{2} << smaller.bits.words32; ++i) {
        const Line32& line = smaller.lines32[i];
        const std::uint32_t header = peek(line.header);
        if (header >> 8 != 0) {
            put32(line.key, header >> 8, line.ids, header & 255);
        }
    }
}

std::size_t WordTables::bytes_of(const vocab::VocabView& vocab, const TableBits& sizes) noexcept {
    return (sizeof(Line8) << sizes.words8) + (sizeof(Line16) << sizes.words16) + bytes32_of(sizes) +
           (4 * sizeof(LongEntry) << sizes.long_words) + ring_bytes(sizes) +
           (vocab.seed_ids.size() + (std::size_t{1} << sizes.store) + kIdsAtOnce) *
               sizeof(std::uint32_t);
}

std::size_t WordTables::size_bytes() const noexcept {
    return memory8.size_bytes() + memory16.size_bytes() + memory32.size_bytes() +
           memory_long.size_bytes() + memory_ring.size_bytes() + memory_stored.size_bytes();
}

bool WordTables::store(std::uint32_t tag, const std::uint32_t* ids, std::uint32_t count,
                       std::uint64_t& value) noexcept {
    if (view) {
        return store_shared(tag, ids, count, value);
    }
    if (stored_room - stored_count < count) {
        return false;
    }
    value = vocab::pack_reference(tag, stored_count, count);
    std::copy(ids, ids + count, stored + stored_count);
    stored_count += count;
    return true;
}

Line8& WordTables::line8_of(std::uint64_t key) noexcept {
    return lines8[hash_word(key) >> (64 - bits.words8)];
}

Line8& WordTables::line_next_to(const Line8& line) noexcept {
    return lines8[(&line - lines8) ^ 1];
}

// Slot 0 of line 0 is left to key 0, so that units without a key always find something.
std::uint32_t WordTables::first_slot(const Line8& line) const noexcept {
    return &line == lines8 ? 1 : 0;
}

// The slot of this key, or a free one, or the next in turn: cheaper than knowing which one was used
// last.
std::uint32_t WordTables::slot_for(const Line8& line, std::uint64_t key) noexcept {
    const std::uint32_t first = first_slot(line);
    for (std::uint32_t slot = first; slot < 4; ++slot) {
        if (line.key[slot] == 0 || line.key[slot] == key) {
            return slot;
        }
    }
    return (turn++ & 3) | first;
}

void WordTables::put8(std::uint64_t key, std::uint64_t value) noexcept {
    value = value == 0 ? kNoIds : value;
    if (view) {
        if (!share8(key, value)) {
            view->refuse();
        }
        return;
    }
    Line8& line = line8_of(key);
    const std::uint32_t slot = slot_for(line, key);
    if (line.key[slot] != 0 && line.key[slot] != key) {
        Line8& next = line_next_to(line);
        const std::uint32_t to = slot_for(next, line.key[slot]);
        evicted += std::uint64_t{next.key[to] != 0 && next.key[to] != line.key[slot]};
        next.key[to] = line.key[slot];
        next.value[to] = line.value[slot];
    }
    line.key[slot] = key;
    line.value[slot] = value;
}

// The slot with this key, or 4.
std::uint32_t WordTables::find_slot(const Line8& line, std::uint64_t key) const noexcept {
    std::uint32_t slot = first_slot(line);
    while (slot < 4 && peek(line.key[slot]) != key) {
        ++slot;
    }
    return slot;
}

bool WordTables::find8(std::uint64_t key, std::uint64_t& value) noexcept {
    Line8& line = line8_of(key);
    if (const std::uint32_t slot = find_slot(line, key); slot < 4) {
        value = peek(line.value[slot]);
        return true;
    }
    if (peek(line.key[3]) == 0) {
        return false;  // the line was never full
    }
    Line8& next = line_next_to(line);
    const std::uint32_t slot = find_slot(next, key);
    if (slot == 4) {
        return false;
    }
    value = peek(next.value[slot]);
    if (view) {
        return true;  // nothing changes its place
    }
    const std::uint32_t own = (turn++ & 3) | first_slot(line);
    std::swap(next.key[slot], line.key[own]);
    std::swap(next.value[slot], line.value[own]);
    return true;
}

Line16& WordTables::line16_of(std::uint64_t low, std::uint64_t high) noexcept {
    return lines16[hash_pair(low, high) >> (64 - bits.words16)];
}

Line16& WordTables::line_next_to(const Line16& line) noexcept {
    return lines16[(&line - lines16) ^ 1];
}

std::uint32_t WordTables::slot_for(const Line16& line, std::uint64_t low,
                                   std::uint64_t high) noexcept {
    if (const std::uint32_t slot = line.find(low, high); slot < 2) {
        return slot;
    }
    return line.value[0] == 0 ? 0 : line.value[1] == 0 ? 1 : turn++ & 1;
}

void WordTables::put16(std::uint64_t low, std::uint64_t high, std::uint64_t value) noexcept {
    if (view) {
        if (!share16(low, high, value)) {
            view->refuse();
        }
        return;
    }
    Line16& line = line16_of(low, high);
    const std::uint32_t slot = slot_for(line, low, high);
    const std::uint64_t* const moved = line.key + std::size_t{2} * slot;
    if (line.value[slot] != 0 && (moved[0] != low || moved[1] != high)) {
        Line16& next = line_next_to(line);
        const std::uint32_t to = slot_for(next, moved[0], moved[1]);
        evicted += std::uint64_t{next.value[to] != 0 && !next.has(to, moved[0], moved[1])};
        next.set(to, moved[0], moved[1], line.value[slot]);
    }
    line.set(slot, low, high, value);
}

bool WordTables::find16(std::uint64_t low, std::uint64_t high, std::uint64_t& value) noexcept {
    Line16& line = line16_of(low, high);
    if (const std::uint32_t slot = line.find(low, high); slot < 2) {
        value = peek(line.value[slot]);
        return true;
    }
    if (peek(line.value[1]) == 0) {
        return false;
    }
    Line16& next = line_next_to(line);
    const std::uint32_t slot = next.find(low, high);
    if (slot == 2) {
        return false;
    }
    value = peek(next.value[slot]);
    if (view) {
        return true;
    }
    const std::uint32_t own = turn++ & 1;
    next.set(slot, line.key[std::size_t{2} * own], line.key[std::size_t{2} * own + 1],
             line.value[own]);
    line.set(own, low, high, value);
    return true;
}

Line32* WordTables::set32_of(const std::uint64_t key[4], std::uint32_t size) noexcept {
    return lines32 + 2 * (hash_key32(key, size) >> (64 - bits.words32));
}

Line32* WordTables::set_next_to(const Line32* set) noexcept {
    return lines32 + ((set - lines32) ^ 2);
}

// Sets of two lines: a line holds one word with up to seven ids.
void WordTables::put32(const std::uint64_t key[4], std::uint32_t size, const std::uint32_t* ids,
                       std::uint32_t count) noexcept {
    if (view) {
        share32(key, size, ids, count);
        return;
    }
    Line32* const set = set32_of(key, size);
    const auto free_line = [](const Line32* lines) -> std::size_t {
        return lines[0].header == 0 ? 0 : lines[1].header == 0 ? 1 : 2;
    };
    std::size_t own = used32.add(place32_of(set)) ? free_line(set) : 0;
    const bool is_full = own == 2;
    own = is_full ? turn++ & 1 : own;
    Line32& line = set[own];
    if (is_full) {
        Line32* const next = set_next_to(set);
        const std::size_t other = free_line(next);
        Line32& to = next[other == 2 ? turn & 1 : other];
        evicted += std::uint64_t{to.header != 0};
        to = line;
    }
    std::memcpy(line.key, key, sizeof(line.key));
    line.header = size << 8 | count;
    std::copy(ids, ids + count, line.ids);
}

const Line32* WordTables::find32(const std::uint64_t key[4], std::uint32_t size) noexcept {
    const auto find = [&](Line32* set) -> Line32* {
        for (Line32* line = set; line < set + 2; ++line) {
            if (peek(line->header) >> 8 == size &&
                std::memcmp(line->key, key, sizeof(line->key)) == 0) {
                return line;
            }
        }
        return nullptr;
    };
    Line32* const set = set32_of(key, size);
    if (!used32.has(place32_of(set))) {
        return nullptr;
    }
    Line32* line = find(set);
    if (line != nullptr || peek(set[1].header) == 0) {
        return line;
    }
    line = find(set_next_to(set));
    if (line == nullptr || view) {
        return line;
    }
    Line32& own = set[turn++ & 1];
    std::swap(own, *line);
    return &own;
}

}  // namespace tokenmill::encode
