// encode: word tables that several workers read and fill together.
#include "encode/shared.h"

#include <algorithm>
#include <new>

namespace tokenmill::encode {

namespace {

using Number = std::atomic_ref<std::uint64_t>;
using Header = std::atomic_ref<std::uint32_t>;
static_assert(Number::is_always_lock_free && Header::is_always_lock_free);

constexpr std::uint32_t kTaken = 1;  // a header of no size: the line is being written

// Takes a free place for this worker alone.
bool take(std::uint64_t& value, std::uint64_t wanted) noexcept {
    std::uint64_t free = 0;
    return Number(value).load(std::memory_order_relaxed) == 0 &&
           Number(value).compare_exchange_strong(free, wanted, std::memory_order_relaxed);
}

}  // namespace

SharedView::SharedView(SharedTables& of) noexcept : of_(&of) {}

SharedView::~SharedView() {
    if (of_ != nullptr) {
        of_->leave(is_copied_);
    }
}

std::unique_ptr<WordTables> SharedView::adopt() noexcept {
    std::unique_ptr<WordTables> adopted = of_->adopt();
    if (adopted != nullptr) {
        of_ = nullptr;
    }
    return adopted;
}

bool SharedView::begin_copy() noexcept {
    is_copied_ = is_copied_ || of_->begin_copy();
    return is_copied_;
}

bool SharedTables::add_view(State& state) noexcept {
    while (phase_of(state) == kReady) {
        if (state_.compare_exchange_weak(state, state + kView, std::memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

SharedTables::Opened SharedTables::open() noexcept {
    State state = state_.load(std::memory_order_acquire);
    if (state == kNew && state_.compare_exchange_strong(state, kInWork)) {
        state = make() ? kReady : kGone;
        state_.store(state, std::memory_order_release);
    }
    if (add_view(state)) {
        return Opened::Yes;
    }
    return phase_of(state) == kInWork ? Opened::NotYet : Opened::Never;
}

bool SharedTables::make() noexcept {
    try {
        tables_ = std::make_unique<WordTables>(WordTables::make_unseeded(vocab_, bits_));
        tables_->used32.add_all();  // prepare() gets them
        next_id_.store(tables_->stored_count, std::memory_order_relaxed);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// The last one to leave full tables frees them: nobody can open them any more.
void SharedTables::leave(bool copied) noexcept {
    const State less = kView + (copied ? kCopy : 0);
    State none_left = kFull;
    if (state_.fetch_sub(less, std::memory_order_acq_rel) == kFull + less &&
        state_.compare_exchange_strong(none_left, kGone)) {
        tables_.reset();
    }
}

std::unique_ptr<WordTables> SharedTables::adopt() noexcept {
    State mine_alone = kFull + kView;
    if (!state_.compare_exchange_strong(mine_alone, kGone, std::memory_order_acq_rel)) {
        return nullptr;
    }
    std::unique_ptr<WordTables> adopted = std::move(tables_);
    adopted->stored_count = std::min(ids_taken(), adopted->stored_room);
    return adopted;
}

// One view stays, for its worker to adopt: otherwise there would be more tables than workers while
// the last copy is made.
bool SharedTables::begin_copy() noexcept {
    State state = state_.load(std::memory_order_relaxed);
    while (state % kCopy - state % kPhase / kCopy > 1) {
        if (state_.compare_exchange_weak(state, state + kCopy, std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void SharedTables::prepare(WordTables& opened) noexcept {
    for (std::size_t chunk; (chunk = next_chunk_.load(std::memory_order_relaxed)) < kChunks;) {
        if (next_chunk_.compare_exchange_weak(chunk, chunk + 1, std::memory_order_relaxed)) {
            touch_chunk(tables_->memory8, chunk);
            touch_chunk(tables_->memory16, chunk);
            touch_chunk(tables_->memory32, chunk);
        }
    }
    add_seeds(opened);
}

// A page that is read before it is written is got twice, and the second time every processor has to
// forget the first one: 8 us on a virtual machine, for each of a thousand pages.
void SharedTables::touch_chunk(const PageBuffer& memory, std::size_t chunk) noexcept {
    const std::size_t size = memory.size_bytes() / kChunks;
    memory.touch(chunk * size, size);
}

void SharedTables::add_seeds(WordTables& opened) noexcept {
    constexpr std::size_t kAtOnce = 2048;
    const std::size_t count8 = vocab_.seeds8.size();
    const std::size_t count = count8 + vocab_.seeds16.size();
    while (next_seed_.load(std::memory_order_relaxed) < count) {
        const std::size_t begin = next_seed_.fetch_add(kAtOnce, std::memory_order_relaxed);
        for (std::size_t i = begin; i < std::min(begin + kAtOnce, count); ++i) {
            if (i < count8) {
                const vocab::Seed8& seed = vocab_.seeds8[i];
                (void)opened.share8(seed.key, seed.value);
            } else {
                const vocab::Seed16& seed = vocab_.seeds16[i - count8];
                (void)opened.share16(seed.key[0], seed.key[1], seed.value);
            }
        }
    }
}

bool SharedTables::take_ids(std::size_t count, std::size_t& position) noexcept {
    const std::size_t room = tables_->stored_room;
    if (ids_taken() + count > room) {
        return false;
    }
    position = next_id_.fetch_add(count, std::memory_order_relaxed);
    return position + count <= room;
}

void SharedTables::refuse() noexcept {
    const std::uint32_t most = 1 + (1U << bits_.words8) / 16;
    if (refused_.fetch_add(1, std::memory_order_relaxed) + 1 == most) {
        state_.fetch_add(kFull - kReady, std::memory_order_relaxed);
    }
}

std::size_t SharedTables::size_bytes() noexcept {
    State state = state_.load(std::memory_order_acquire);
    if (!add_view(state)) {
        return 0;
    }
    const std::size_t size = tables_->size_bytes();
    leave(false);
    return size;
}

WordTables::WordTables(SharedTables& of)
    : bits(of.tables().bits),
      memory_long((4 * sizeof(LongEntry)) << bits.long_words),
      memory_ring(ring_bytes(bits)),
      stored_room(of.tables().stored_room),
      stored(of.tables().stored),
      lines8(of.tables().lines8),
      lines16(of.tables().lines16),
      lines32(of.tables().lines32),
      used32(of.tables().used32),
      entries(memory_long.as<LongEntry>()),
      used_long(memory_long.size_bytes()),
      view(of) {
    of.prepare(*this);
}

bool WordTables::is_view_full() const noexcept {
    return view->is_full();
}

bool WordTables::leave_shared(const vocab::VocabView& vocab, bool at_any_price) {
    std::unique_ptr<WordTables> own = view.adopt();
    if (own == nullptr) {
        if (!view.begin_copy() && !at_any_price) {
            return false;
        }
        own = std::make_unique<WordTables>(vocab, bits);
        own->put_words_of(*this);
    }
    swap_ring(*own);
    own->evicted += evicted;
    *this = std::move(*own);
    return true;
}

void WordTables::swap_ring(WordTables& other) noexcept {
    std::swap(memory_long, other.memory_long);
    std::swap(memory_ring, other.memory_ring);
    std::swap(entries, other.entries);
    std::swap(used_long, other.used_long);
    std::swap(ring_head, other.ring_head);
}

// So much may be read at once, and nobody else may write to it.
bool WordTables::store_shared(std::uint32_t tag, const std::uint32_t* ids, std::uint32_t count,
                              std::uint64_t& value) noexcept {
    std::size_t position = 0;
    if (!view->take_ids(std::max<std::size_t>(count, kIdsAtOnce), position)) {
        return false;
    }
    value = vocab::pack_reference(tag, position, count);
    std::copy(ids, ids + count, stored + position);
    return true;
}

bool WordTables::fill8(Line8& line, std::uint64_t key, std::uint64_t value) noexcept {
    for (std::uint32_t slot = first_slot(line); slot < 4; ++slot) {
        if (Number(line.key[slot]).load(std::memory_order_relaxed) == key) {
            return true;
        }
        if (take(line.value[slot], value)) {
            Number(line.key[slot]).store(key, std::memory_order_release);
            return true;
        }
    }
    return false;
}

bool WordTables::fill16(Line16& line, std::uint64_t low, std::uint64_t high,
                        std::uint64_t value) noexcept {
    for (std::size_t slot = 0; slot < 2; ++slot) {
        std::uint64_t* const key = line.key + 2 * slot;
        if (Number(key[1]).load(std::memory_order_acquire) == high &&
            Number(key[0]).load(std::memory_order_relaxed) == low) {
            return true;
        }
        if (take(line.value[slot], value)) {
            Number(key[0]).store(low, std::memory_order_relaxed);
            Number(key[1]).store(high, std::memory_order_release);  // never 0 in a key
            return true;
        }
    }
    return false;
}

bool WordTables::fill32(Line32* set, const std::uint64_t key[4], std::uint32_t size,
                        const std::uint32_t* ids, std::uint32_t count) noexcept {
    for (Line32* line = set; line < set + 2; ++line) {
        std::uint32_t there = 0;
        if (Header(line->header)
                .compare_exchange_strong(there, kTaken, std::memory_order_acquire)) {
            std::memcpy(line->key, key, sizeof(line->key));
            std::copy(ids, ids + count, line->ids);
            Header(line->header).store(size << 8 | count, std::memory_order_release);
            return true;
        }
        if (there >> 8 == size && std::memcmp(line->key, key, sizeof(line->key)) == 0) {
            return true;
        }
    }
    return false;
}

// A word without ids has the value of a free place, so it has none.
bool WordTables::share8(std::uint64_t key, std::uint64_t value) noexcept {
    Line8& line = line8_of(key);
    return value == 0 || fill8(line, key, value) || fill8(line_next_to(line), key, value);
}

bool WordTables::share16(std::uint64_t low, std::uint64_t high, std::uint64_t value) noexcept {
    Line16& line = line16_of(low, high);
    return value == 0 || fill16(line, low, high, value) ||
           fill16(line_next_to(line), low, high, value);
}

// The ring has room for any number of words, but only this worker knows them.
void WordTables::share32(const std::uint64_t key[4], std::uint32_t size, const std::uint32_t* ids,
                         std::uint32_t count) noexcept {
    Line32* const set = set32_of(key, size);
    if (fill32(set, key, size, ids, count) || fill32(set_next_to(set), key, size, ids, count)) {
        return;
    }
    std::uint8_t word[32];
    read_key32(key, size, word);
    put_long({word, size}, hash_long({word, size}), ids, count);
}

}  // namespace tokenmill::encode
