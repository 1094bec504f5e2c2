// shard: hash -> entry, within a budget of bytes.
#include "cache/shard.h"

#include <algorithm>
#include <utility>

#include "base/threads.h"

namespace tokenmill::cache {

// Holders need less than a microsecond, unless the system took their core away: hence the yields.
BriefLock::BriefLock(std::atomic<bool>& flag) noexcept : flag_(flag) {
    constexpr int kTurns = 2000;
    constexpr int kBusyTurns = 100;
    for (int turn = 0; turn < kTurns && !is_held_; ++turn) {
        if (!flag_.load(std::memory_order_relaxed)) {
            is_held_ = !flag_.exchange(true, std::memory_order_acquire);
        } else if (turn >= kBusyTurns) {
            yield_thread();
        }
    }
}

BriefLock::~BriefLock() {
    if (is_held_) {
        flag_.store(false, std::memory_order_release);
    }
}

EntryRef Shard::find(const Hash128& hash) {
    const BriefLock lock(lock_);
    if (!lock.is_held()) {
        busy_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    const auto found = books_->nodes.find(hash);
    if (found == books_->nodes.end()) {
        return nullptr;
    }
    Node& node = found->second;
    node.asked = std::min<std::uint8_t>(static_cast<std::uint8_t>(node.asked + 1), kMostAsked);
    return node.entry;
}

// Entries that leave are freed after the lock (`gone` outlives it): freeing takes longer than all
// the rest, and the last reader of an entry may be another thread anyway.
void Shard::insert(const Hash128& hash, EntryRef entry) {
    const std::size_t cost = entry->cost_bytes();
    std::vector<EntryRef> gone;
    const BriefLock lock(lock_);
    if (!lock.is_held()) {
        busy_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (cost > budget_.load(std::memory_order_relaxed) / 2) {
        ++refused_;
        return;
    }
    Books& books = *books_;
    const auto [place, is_new] = books.nodes.try_emplace(hash);
    Node& node = place->second;
    if (!is_new) {
        // Another thread was first, or the text is another one with the same hash: the later stays.
        std::size_t& held = node.is_main ? books.main_bytes : books.small_bytes;
        held = held - node.entry->cost_bytes() + cost;
        gone.push_back(std::exchange(node.entry, std::move(entry)));
        make_room(gone);
        return;
    }
    node.entry = std::move(entry);
    node.hash = hash;
    node.is_main = books.ghosts.contains(hash);
    (node.is_main ? books.main : books.small).push_back(&node);
    (node.is_main ? books.main_bytes : books.small_bytes) += cost;
    make_room(gone);
}

std::size_t Shard::bytes() const noexcept {
    return books_->small_bytes + books_->main_bytes + books_->ghost_order.size() * kGhostBytes;
}

// Each turn moves or drops one entry; one that is moved has been asked for since the last time, so
// the turns are paid for by look-ups.
void Shard::make_room(std::vector<EntryRef>& gone) {
    const std::size_t budget = budget_.load(std::memory_order_relaxed);
    while (bytes() > budget) {
        const bool from_small = books_->small_bytes > budget / 10 || books_->main.empty();
        if (from_small && !books_->small.empty()) {
            pass_small(gone);
        } else if (!books_->main.empty()) {
            pass_main(gone);
        } else {
            books_->ghosts.clear();
            books_->ghost_order.clear();
            return;
        }
    }
}

void Shard::pass_small(std::vector<EntryRef>& gone) {
    Books& books = *books_;
    Node* const node = books.small.front();
    books.small.pop_front();
    const std::size_t cost = node->entry->cost_bytes();
    books.small_bytes -= cost;
    if (node->asked > 0) {
        node->asked = 0;
        node->is_main = true;
        books.main.push_back(node);
        books.main_bytes += cost;
        return;
    }
    remember(node->hash);
    drop(*node, gone);
}

void Shard::pass_main(std::vector<EntryRef>& gone) {
    Books& books = *books_;
    Node* const node = books.main.front();
    books.main.pop_front();
    if (node->asked > 0) {
        --node->asked;
        books.main.push_back(node);
        return;
    }
    books.main_bytes -= node->entry->cost_bytes();
    drop(*node, gone);
}

void Shard::drop(Node& node, std::vector<EntryRef>& gone) {
    const Hash128 hash = node.hash;  // the node ends with the erase
    gone.push_back(std::move(node.entry));
    books_->nodes.erase(hash);
    ++evictions_;
}

// As many ghosts as entries, but at least a few.
void Shard::remember(const Hash128& hash) {
    constexpr std::size_t kFew = 16;
    Books& books = *books_;
    if (!books.ghosts.insert(hash).second) {
        return;
    }
    books.ghost_order.push_back(hash);
    while (books.ghost_order.size() > std::max(kFew, books.nodes.size())) {
        books.ghosts.erase(books.ghost_order.front());
        books.ghost_order.pop_front();
    }
}

void Shard::clear() {
    auto fresh = std::make_unique<Books>();
    const BriefLock lock(lock_);
    if (lock.is_held()) {
        books_.swap(fresh);
    } else {
        busy_.fetch_add(1, std::memory_order_relaxed);
    }
}

void Shard::set_budget(std::size_t bytes_allowed) {
    std::vector<EntryRef> gone;
    budget_.store(bytes_allowed, std::memory_order_relaxed);
    const BriefLock lock(lock_);
    if (lock.is_held()) {  // else the next insert makes room
        make_room(gone);
    }
}

ShardUse Shard::use() {
    const BriefLock lock(lock_);
    if (!lock.is_held()) {
        return {};
    }
    return {bytes(), books_->nodes.size(), evictions_, refused_,
            busy_.load(std::memory_order_relaxed)};
}

void Shard::after_fork() {
    if (lock_.load(std::memory_order_acquire)) {
        Books* const given_up = books_.release();  // it cannot be freed, either
        static_cast<void>(given_up);
        books_ = std::make_unique<Books>();
        lock_.store(false, std::memory_order_release);
    }
}

}  // namespace tokenmill::cache
