// shard: hash -> entry, within a budget of bytes, under one lock that is held for a few look-ups
// and never while bytes are compared, copied or freed. Internal to cache.
//
// S3-FIFO: a new entry goes to a small queue, a tenth of the budget. One that is asked for before
// it reaches the end moves on to the main queue; the others leave, and only their hash is kept for
// a while (the ghosts): who comes back then goes to the main queue at once. At the end of the main
// queue, an entry that was asked for starts again.
//
//   new ----> [ small ] --asked for--> [ main ] --asked for--> back to the start of main
//                |                        |
//              ghosts ---- seen again --->                      else it leaves
#pragma once

#include <atomic>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/entry.h"

namespace tokenmill::cache {

struct HashOfHash {
    std::size_t operator()(const Hash128& hash) const noexcept {
        return static_cast<std::size_t>(hash.low);
    }
};

struct ShardUse {
    std::size_t bytes = 0;
    std::size_t entries = 0;
    std::uint64_t evictions = 0;
    std::uint64_t refused = 0;  // entries that do not fit
    std::uint64_t busy = 0;     // calls that did not wait any longer for the lock
};

// A lock that is given up after a while: a process that was forked while another thread held it
// would wait for ever. A call that gives up misses, which is never wrong.
class BriefLock {
public:
    explicit BriefLock(std::atomic<bool>& flag) noexcept;
    ~BriefLock();
    BriefLock(const BriefLock&) = delete;
    BriefLock& operator=(const BriefLock&) = delete;
    [[nodiscard]] bool is_held() const noexcept { return is_held_; }

private:
    std::atomic<bool>& flag_;
    bool is_held_ = false;
};

class Shard {
public:
    // Null if it is not there.
    [[nodiscard]] EntryRef find(const Hash128& hash);
    void insert(const Hash128& hash, EntryRef entry);
    void clear();
    void set_budget(std::size_t bytes);
    [[nodiscard]] ShardUse use();
    // In a forked child: if the lock is held, then by a thread that is not here. What the shard
    // held may be half changed, so it is given up.
    void after_fork();

private:
    struct Node {
        EntryRef entry;
        Hash128 hash;
        std::uint8_t asked = 0;  // since it came or was passed on, kMostAsked at most
        bool is_main = false;
    };
    struct Books {
        std::unordered_map<Hash128, Node, HashOfHash> nodes;
        std::deque<Node*> small;
        std::deque<Node*> main;
        std::size_t small_bytes = 0;
        std::size_t main_bytes = 0;
        std::unordered_set<Hash128, HashOfHash> ghosts;
        std::deque<Hash128> ghost_order;
    };
    static constexpr std::size_t kGhostBytes = 80;  // in both of its containers
    static constexpr std::uint8_t kMostAsked = 3;

    [[nodiscard]] std::size_t bytes() const noexcept;
    void make_room(std::vector<EntryRef>& gone);
    void pass_small(std::vector<EntryRef>& gone);
    void pass_main(std::vector<EntryRef>& gone);
    void remember(const Hash128& hash);
    void drop(Node& node, std::vector<EntryRef>& gone);

    std::atomic<bool> lock_{false};
    std::atomic<std::uint64_t> busy_{0};
    std::atomic<std::size_t> budget_{0};
    std::uint64_t evictions_ = 0;
    std::uint64_t refused_ = 0;
    std::unique_ptr<Books> books_ = std::make_unique<Books>();
};

}  // namespace tokenmill::cache
