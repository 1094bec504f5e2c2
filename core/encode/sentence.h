// The pieces with the greatest sum of scores over a whole text. The sums are floats and run on from
// the beginning of the text, so how one word is cut can depend on all that is before it: by
// rounding. A word is remembered with the sums up to which rounding cannot change it.
#pragma once

#include <vector>

#include "base/counters.h"
#include "base/stop.h"
#include "base/types.h"
#include "encode/look_up.h"
#include "encode/tables.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

class SentenceLookUp {
public:
    SentenceLookUp(const vocab::VocabView& vocab, WordTables& tables);

    // Replaces `ids` by those of `text`.
    void look_up(Bytes text, std::vector<std::uint32_t>& ids);
    void set_stop(const Stop* stop) noexcept { stop_ = stop; }
    // Counts the words of the texts since the last call.
    void count(PendingCounts& counters) noexcept;
    // The parts of `text` that they stand for.
    void find_parts(Bytes text, std::vector<WordPart>& parts);

private:
    static constexpr std::size_t kLongest = 32;  // bytes of a word that is remembered
    static constexpr std::size_t kMostIds = 6;
    static constexpr std::size_t kAhead = 32;  // words: time enough for the tables to arrive

    // What the tables remember of a word: these are its ids after every sum that is smaller
    // (without its sign) than the limit. Without ids, after none.
    struct KnownWord {
        float limit;
        std::uint32_t count;
        const TokenId* ids;
    };
    // A word of the text, and where the tables would have it.
    struct WordAhead {
        Bytes text;
        std::uint64_t key[4];
        Line32* set;  // null for a word that is too long
    };
    // The best way to the end of a prefix of a word.
    struct SentenceStep {
        float score;
        std::uint32_t begin;  // of its last piece
        TokenId id;           // kNotReached: no way yet
    };
    // The same with exact sums, and that of the second best way.
    struct ExactStep {
        double best;
        double second;
        std::uint32_t begin;
        TokenId id;
    };

    [[nodiscard]] std::size_t word_end(Bytes text, std::size_t begin) const noexcept;
    [[nodiscard]] std::size_t look_ahead(Bytes text, std::size_t& at);
    [[nodiscard]] float append_word(const WordAhead& ahead, float sum,
                                    std::vector<std::uint32_t>& ids);
    [[nodiscard]] KnownWord word_of(const WordAhead& ahead);
    [[nodiscard]] float find_limit(Bytes text);
    [[nodiscard]] std::uint32_t character_node(Bytes character) const noexcept;
    template <typename Offer>
    void visit_pieces(Bytes word, std::uint32_t begin, std::uint32_t first_end, Offer offer) const;
    template <typename Visit>
    void visit_characters(Bytes word, Visit visit) const;
    [[nodiscard]] float find_best(Bytes word, float sum);
    [[nodiscard]] bool find_exactly(Bytes text);
    template <typename Put>
    void collect(Bytes word, Put put);
    [[nodiscard]] float append_known(const KnownWord& word, float sum,
                                     std::vector<std::uint32_t>& ids) const;
    void append_found(Bytes word, std::vector<std::uint32_t>& ids);

    const vocab::VocabView* vocab_;
    const Stop* stop_ = nullptr;
    float unknown_score_ = 0.0F;
    float largest_score_ = 0.0F;  // without its sign
    WordTables* tables_;
    std::uint64_t asked_ = 0;  // words since count(), and how many of them the table knew
    std::uint64_t found_ = 0;
    WordAhead ahead_[kAhead];
    std::uint32_t record_[1 + kMostIds];  // a limit and ids, as the tables keep them
    std::vector<SentenceStep> steps_;
    std::vector<ExactStep> exact_;
    std::vector<std::uint32_t> ends_;  // of the pieces of the best way, the last one first
};

}  // namespace tokenmill::encode
