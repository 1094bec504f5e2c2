// encode: symbols of a word of any length -> ids, in linear time.
#include "encode/long_word.h"

#include <algorithm>
#include <functional>

#include "encode/merge.h"
#include "encode/symbols.h"

namespace tokenmill::encode {

using vocab::kNoMerge;

// Takes window after window. The tokens near the end of a window may still change, so only those
// before its margin are kept:
//
//   word     |---------- window ----------|
//   kept     |----- settled -----| margin |
//   next                         |---------- window ----------|
//
// If the first token of the next window does not fit to the last one kept, that one is taken back.
void LongMerger::merge(Symbols word, bool is_tied, std::vector<std::uint32_t>& ids) {
    if (is_tied != is_tied_) {
        is_tied_ = is_tied;
        known_window_.clear();
    }
    constexpr unsigned kPatience = 4;
    const std::size_t first = ids.size();
    std::size_t window = kWindow;
    std::size_t at = 0;
    std::size_t failed_at = 0;  // the furthest joint that did not hold
    unsigned failures = 0;      // since it was passed
    while (at < word.size()) {
        check_stop(stop_);
        const std::size_t end = std::min(word.size(), at + window);
        merge_window(word.subspan(at, end - at));
        if (ids.size() > first && !is_joint_valid(ids.back(), window_ids_.front())) {
            failed_at = std::max(failed_at, at);
            at -= symbol_count(*vocab_, ids.back());  // step back over one token
            ids.pop_back();
            window += ++failures > kPatience ? kWindow : 0;  // then look at more text at once
            continue;
        }
        const std::size_t settled =
            keep_settled(word.subspan(at, end - at), end == word.size(), ids);
        if (settled == 0) {
            window *= 2;  // one token reaches over the whole window
            continue;
        }
        at += settled;
        if (at > failed_at) {
            window = kWindow;
            failures = 0;
        }
    }
}

// Appends the tokens of the window that end before its margin; returns the symbols they cover.
std::size_t LongMerger::keep_settled(Symbols window, bool is_last,
                                     std::vector<std::uint32_t>& ids) {
    if (is_last) {
        ids.insert(ids.end(), window_ids_.begin(), window_ids_.end());
        return window.size();
    }
    const std::size_t limit = window.size() - kMargin;
    std::size_t covered = 0;
    for (const std::uint32_t id : window_ids_) {
        const std::size_t size = symbol_count(*vocab_, id);
        if (covered + size > limit) {
            break;
        }
        ids.push_back(id);
        covered += size;
    }
    return covered;
}

// Do two tokens, merged alone, come out unchanged? Then no merge crosses their boundary.
bool LongMerger::is_joint_valid(std::uint32_t left, std::uint32_t right) {
    joint_.clear();
    append_symbols(*vocab_, left, joint_);
    append_symbols(*vocab_, right, joint_);
    if (joint_.size() <= kShortWord && !is_tied_) {
        const auto size = static_cast<std::uint32_t>(joint_.size());
        return merge_short(vocab_->pairs, joint_.data(), size) == 2 && joint_[0] == left &&
               joint_[1] == right;
    }
    joint_ids_.swap(window_ids_);  // merging writes to window_ids_: put it aside
    if (joint_.size() <= kWindow && !is_tied_) {
        merge_small(joint_);
    } else {
        merge_large(joint_);
    }
    joint_ids_.swap(window_ids_);
    return joint_ids_.size() == 2 && joint_ids_[0] == left && joint_ids_[1] == right;
}

void LongMerger::merge_window(Symbols window) {
    // Runs of one character or of a short period show the same window again and again.
    if (window.size() == known_window_.size() &&
        std::equal(window.begin(), window.end(), known_window_.begin())) {
        return;
    }
    if (window.size() <= kWindow && !is_tied_) {
        merge_small(window);
    } else {
        merge_large(window);
    }
    known_window_.assign(window.begin(), window.end());
}

namespace {

// A window of at most kWindow symbols while it is merged. A rank and its position are one number,
// so the least number names the next merge; the least of every sixteen is kept.
//
//   ranked   merged id << 9 | position     kNone: no merge
//   least    [0..15] [16..31] ...          32 numbers: less work than the jumps of a heap
//                                          (log 2026-11-15)
class RankedWindow {
public:
    RankedWindow(const vocab::PairTable& pairs, LongMerger::Symbols window) noexcept
        : pairs_(pairs),
          count_(static_cast<std::uint32_t>(window.size())),
          groups_((count_ + kGroup - 1) / kGroup) {
        for (std::uint32_t i = 0; i < groups_ * kGroup; ++i) {
            ranked_[i] = kNone;
        }
        for (std::uint32_t i = 0; i < count_; ++i) {
            id_[i] = window[i];
            next_[i] = static_cast<std::uint16_t>(i + 1);
            previous_[i + 1] = static_cast<std::uint16_t>(i);
            if (i + 1 < count_) {
                ranked_[i] = rank_at(merged_symbols(pairs_, window[i], window[i + 1]), i);
            }
        }
        for (std::uint32_t g = 0; g < groups_; ++g) {
            refresh(g * kGroup);
        }
    }

    void merge() noexcept {
        for (;;) {
            std::int32_t best = kNone;
            for (std::uint32_t g = 0; g < groups_; ++g) {
                best = std::min(best, least_[g]);
            }
            if (best == kNone) {
                return;
            }
            merge_at(static_cast<std::uint32_t>(best) & (LongMerger::kWindow - 1),
                     static_cast<std::uint32_t>(best) >> kPositionBits);
        }
    }

    void take_ids(std::vector<std::uint32_t>& ids) const {
        ids.clear();
        for (std::uint32_t i = 0; i < count_; i = next_[i]) {
            ids.push_back(id_[i]);
        }
    }

private:
    static constexpr std::int32_t kNone = 0x7FFFFFFF;
    static constexpr unsigned kGroup = 16;
    static constexpr unsigned kPositionBits = 9;
    static_assert(std::size_t{1} << kPositionBits == LongMerger::kWindow);

    static std::int32_t rank_at(std::uint32_t made, std::uint32_t at) noexcept {
        return made == kNoMerge ? kNone : static_cast<std::int32_t>(made << kPositionBits | at);
    }

    // The least of a group, after one of its ranks has changed.
    void refresh(std::uint32_t at) noexcept {
        const std::int32_t* group = ranked_ + std::size_t{at / kGroup} * kGroup;
        std::int32_t lowest = kNone;
        for (unsigned i = 0; i < kGroup; ++i) {
            lowest = std::min(lowest, group[i]);
        }
        least_[at / kGroup] = lowest;
    }

    // At most three ranks change: those of the pair, of its left neighbour, and of the symbol that
    // goes.
    void merge_at(std::uint32_t at, std::uint32_t made) noexcept {
        const std::uint32_t gone = next_[at];
        const std::uint32_t after = next_[gone];
        id_[at] = made;
        next_[at] = static_cast<std::uint16_t>(after);
        ranked_[gone] = kNone;
        ranked_[at] = kNone;
        if (after < count_) {
            previous_[after] = static_cast<std::uint16_t>(at);
            ranked_[at] = rank_at(pairs_.merged(made, id_[after]), at);
        }
        refresh(at);
        if (gone / kGroup != at / kGroup) {
            refresh(gone);
        }
        if (at > 0) {
            const std::uint32_t before = previous_[at];
            ranked_[before] = rank_at(pairs_.merged(id_[before], made), before);
            refresh(before);
        }
    }

    const vocab::PairTable& pairs_;
    const std::uint32_t count_;
    const std::uint32_t groups_;
    std::int32_t ranked_[LongMerger::kWindow];
    std::int32_t least_[LongMerger::kWindow / kGroup];
    std::uint32_t id_[LongMerger::kWindow];
    std::uint16_t next_[LongMerger::kWindow];
    std::uint16_t previous_[LongMerger::kWindow + 1];
};

}  // namespace

// Ranks that tokens share do not fit RankedWindow, which takes ids for ranks.
void LongMerger::merge_small(Symbols window) {
    RankedWindow ranked(vocab_->pairs, window);
    ranked.merge();
    ranked.take_ids(window_ids_);
}

// Merging with a heap, for windows of any length and for ranks that several tokens share. Symbols
// are a linked list in an array; an entry of the heap whose symbols changed since it was pushed is
// skipped when it comes up.
void LongMerger::merge_large(Symbols window) {
    start_large(window);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        const std::uint64_t top = heap_.back();
        heap_.pop_back();
        merge_pair(static_cast<std::uint32_t>(top), top >> 32);
    }
    window_ids_.clear();
    for (std::uint32_t at = 0; at != kNoPlace; at = symbols_[at].next) {
        window_ids_.push_back(symbols_[at].id);
    }
}

void LongMerger::start_large(Symbols window) {
    const auto count = static_cast<std::uint32_t>(window.size());
    symbols_.resize(count);
    heap_.clear();
    for (std::uint32_t at = 0; at < count; ++at) {
        const bool is_last = at + 1 == count;
        symbols_[at] = {window[at], at == 0 ? kNoPlace : at - 1, is_last ? kNoPlace : at + 1};
        const std::uint32_t made =
            is_last ? kNoMerge : merged_symbols(vocab_->pairs, window[at], window[at + 1]);
        if (made != kNoMerge) {
            heap_.push_back(rank_of(made) << 32 | at);
        }
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

// Merges the symbol at `at` with the next one, if the two still make a token of this rank.
void LongMerger::merge_pair(std::uint32_t at, std::uint64_t rank) {
    Symbol& left = symbols_[at];
    if (left.id == kNoMerge || left.next == kNoPlace) {
        return;  // merged away since it was pushed
    }
    Symbol& right = symbols_[left.next];
    const std::uint32_t made = vocab_->pairs.merged(left.id, right.id);
    if (made == kNoMerge || rank_of(made) != rank) {
        return;  // one of the two has changed
    }
    left.id = made;
    left.next = right.next;
    right.id = kNoMerge;
    if (left.next != kNoPlace) {
        symbols_[left.next].previous = at;
        push_pair(at);
    }
    if (left.previous != kNoPlace) {
        push_pair(left.previous);
    }
}

void LongMerger::push_pair(std::uint32_t at) {
    const Symbol& left = symbols_[at];
    const std::uint32_t made = vocab_->pairs.merged(left.id, symbols_[left.next].id);
    if (made != kNoMerge) {
        heap_.push_back(rank_of(made) << 32 | at);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
}

}  // namespace tokenmill::encode
