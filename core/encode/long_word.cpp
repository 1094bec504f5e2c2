#include "encode/long_word.h"

#include <algorithm>
#include <functional>

#include "encode/merge.h"

namespace tokenmill::encode {

using vocab::kNoMerge;

std::size_t LongMerger::size_of(std::uint32_t internal) const noexcept {
    return vocab_->token_bytes(vocab_->external[internal]).size();
}

void LongMerger::merge(Bytes word, std::vector<std::uint32_t>& ids) {
    const std::size_t first = ids.size();
    std::size_t window = kWindow;
    std::size_t at = 0;
    while (at < word.size()) {
        const std::size_t end = std::min(word.size(), at + window);
        merge_window(word.subspan(at, end - at));
        if (ids.size() > first && !is_joint_valid(ids.back(), window_ids_.front())) {
            at -= size_of(ids.back());  // step back over one token and look at more text at once
            ids.pop_back();
            window += kWindow;
            continue;
        }
        const std::size_t settled = keep_settled(word.subspan(at, end - at), end == word.size(), ids);
        if (settled == 0) {
            window *= 2;  // one token reaches over the whole window
            continue;
        }
        at += settled;
        window = kWindow;
    }
}

// Appends the tokens of the window that end before its margin; returns the bytes they cover.
std::size_t LongMerger::keep_settled(Bytes window, bool is_last, std::vector<std::uint32_t>& ids) {
    if (is_last) {
        ids.insert(ids.end(), window_ids_.begin(), window_ids_.end());
        return window.size();
    }
    const std::size_t limit = window.size() - kMargin;
    std::size_t covered = 0;
    for (const std::uint32_t id : window_ids_) {
        const std::size_t size = size_of(id);
        if (covered + size > limit) {
            break;
        }
        ids.push_back(id);
        covered += size;
    }
    return covered;
}

bool LongMerger::is_joint_valid(std::uint32_t left, std::uint32_t right) {
    const Bytes a = vocab_->token_bytes(vocab_->external[left]);
    const Bytes b = vocab_->token_bytes(vocab_->external[right]);
    if (a.size() + b.size() <= kShortWord) {
        std::uint8_t bytes[kShortWord];
        std::uint32_t out[kShortWord];
        std::copy(a.begin(), a.end(), bytes);
        std::copy(b.begin(), b.end(), bytes + a.size());
        const auto size = static_cast<std::uint32_t>(a.size() + b.size());
        return merge_short(vocab_->pairs, bytes, size, out) == 2 && out[0] == left &&
               out[1] == right;
    }
    joint_.assign(a.begin(), a.end());
    joint_.insert(joint_.end(), b.begin(), b.end());
    joint_ids_.swap(window_ids_);  // merge_window works on window_ids_: put it aside
    merge_window(joint_);
    joint_ids_.swap(window_ids_);
    return joint_ids_.size() == 2 && joint_ids_[0] == left && joint_ids_[1] == right;
}

void LongMerger::merge_window(Bytes window) {
    const auto count = static_cast<std::int32_t>(window.size());
    const vocab::PairTable& pairs = vocab_->pairs;
    symbols_.resize(window.size());
    heap_.clear();
    for (std::int32_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        symbols_[at] = {window[at], i - 1, i + 1 < count ? i + 1 : -1};
        if (i + 1 < count) {
            const std::uint32_t made = pairs.merged_bytes(window[at], window[at + 1]);
            if (made != kNoMerge) {
                heap_.push_back(std::uint64_t{made} << 32 | at);
            }
        }
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto push = [&](std::int32_t left) {
        const Symbol& a = symbols_[static_cast<std::size_t>(left)];
        const std::uint32_t made =
            pairs.merged(a.id, symbols_[static_cast<std::size_t>(a.next)].id);
        if (made != kNoMerge) {
            heap_.push_back(std::uint64_t{made} << 32 | static_cast<std::uint32_t>(left));
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
    };
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        const std::uint64_t top = heap_.back();
        heap_.pop_back();
        const auto made = static_cast<std::uint32_t>(top >> 32);
        Symbol& left = symbols_[static_cast<std::uint32_t>(top)];
        if (left.id == kNoMerge || left.next < 0) {
            continue;  // merged away since it was pushed
        }
        Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
        if (pairs.merged(left.id, right.id) != made) {
            continue;  // one of the two has changed
        }
        left.id = made;
        left.next = right.next;
        right.id = kNoMerge;
        if (left.next >= 0) {
            symbols_[static_cast<std::size_t>(left.next)].previous =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(top));
            push(static_cast<std::int32_t>(static_cast<std::uint32_t>(top)));
        }
        if (left.previous >= 0) {
            push(left.previous);
        }
    }
    window_ids_.clear();
    for (std::int32_t i = 0; i >= 0; i = symbols_[static_cast<std::size_t>(i)].next) {
        window_ids_.push_back(symbols_[static_cast<std::size_t>(i)].id);
    }
}

}  // namespace tokenmill::encode
