// encode: symbols of a word of any length -> ids, in linear time. Windows are merged alone and
// joined where the joint is valid. Exact, because a token sequence is the encoding if and only if
// every two neighbours, merged alone, come out unchanged: a first merge across a boundary would
// also happen in that pair.
#pragma once

#include <span>
#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

class LongMerger {
public:
    explicit LongMerger(const vocab::VocabView& vocab) : vocab_(&vocab) {}

    using Symbols = std::span<const std::uint32_t>;

    // Internal ids of the word that starts as these symbols, appended to `ids`. `is_tied`: it may
    // hold tokens that share a rank.
    void merge(Symbols word, bool is_tied, std::vector<std::uint32_t>& ids);
    void set_stop(const Stop* stop) noexcept { stop_ = stop; }

    static constexpr std::size_t kWindow = 512;  // symbols
    static constexpr std::size_t kMargin = 64;   // the last tokens of a window may still change

private:
    void merge_window(Symbols window);  // fills window_ids_
    void merge_small(Symbols window);
    void merge_large(Symbols window);
    void start_large(Symbols window);  // fills symbols_ and heap_
    void merge_pair(std::uint32_t at, std::uint64_t rank);
    void push_pair(std::uint32_t at);
    // Internal ids are in the order of ranks, but for those that share one.
    [[nodiscard]] std::uint64_t rank_of(std::uint32_t made) const noexcept {
        return is_tied_ ? vocab_->tied_ranks[made] : made;
    }
    [[nodiscard]] bool is_joint_valid(std::uint32_t left, std::uint32_t right);
    std::size_t keep_settled(Symbols window, bool is_last, std::vector<std::uint32_t>& ids);

    static constexpr std::uint32_t kNoPlace = 0xFFFFFFFFU;
    struct Symbol {
        std::uint32_t id;        // kNoMerge: merged into the one before it
        std::uint32_t previous;  // places in symbols_, or kNoPlace
        std::uint32_t next;
    };
    const vocab::VocabView* vocab_;
    const Stop* stop_ = nullptr;
    std::vector<Symbol> symbols_;
    bool is_tied_ = false;
    std::vector<std::uint64_t> heap_;  // rank << 32 | position, a min-heap
    std::vector<std::uint32_t> window_ids_;
    std::vector<std::uint32_t> known_window_;  // the window that window_ids_ belong to
    std::vector<std::uint32_t> joint_ids_;
    std::vector<std::uint32_t> joint_;
};

}  // namespace tokenmill::encode
