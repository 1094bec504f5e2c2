// encode: words -> ids where words are not merged but looked up: WordPiece, Unigram, WordLevel.
#pragma once

#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "base/utf8.h"
#include "encode/short_way.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// The bytes of a word that an id stands for.
struct WordPart {
    std::uint32_t begin;
    std::uint32_t end;
};

class WordLookUp {
public:
    explicit WordLookUp(const vocab::VocabView& vocab);

    // Replaces `ids` by those of `word`. White space has none if the split leaves dropping it to
    // us.
    void look_up(Bytes word, std::vector<std::uint32_t>& ids);
    void set_stop(const Stop* stop) noexcept { stop_ = stop; }
    // The parts of the last word that its ids stand for.
    [[nodiscard]] const std::vector<WordPart>& parts() const noexcept { return parts_; }
    // Asks for the memory that looking up a word reads first.
    void prefetch(Bytes word) const noexcept;
    // Does the word consist of characters of three bytes that no token starts with? Then all of it
    // is one unknown token. May be false where that is so, never the other way round.
    [[nodiscard]] bool is_unknown(Bytes word) const noexcept;
    // Can any word be unknown?
    [[nodiscard]] bool has_unknown() const noexcept { return fuses_unknown_; }
    [[nodiscard]] std::uint64_t unknown_value() const noexcept { return unknown_value_; }
    // Would the last word have the same ids after other text that no token joins with it?
    [[nodiscard]] bool is_sure() const noexcept { return is_sure_; }

private:
    void longest_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void find_short(Bytes word);
    void find_long(Bytes word);
    void offer_pieces(Bytes word);
    void offer(std::size_t begin, std::size_t end, double score, std::uint32_t node);
    void add_piece(std::uint32_t begin, std::uint32_t end, std::uint32_t node);
    void append_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void append_unknown(Bytes text, WordPart part, bool may_be_token,
                        std::vector<std::uint32_t>& ids);
    void append(TokenId id, WordPart part, std::vector<std::uint32_t>& ids);

    // The best way to the end of a prefix of the word.
    struct WordStep {
        double score;         // not a number: no way yet
        std::uint32_t begin;  // of its last piece
        std::uint32_t node;   // of its last piece; the root: unknown; kClose: see doubt_
    };
    struct FoundPiece {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t node;  // in the trie; the root if all of it is unknown
        TokenId id;
    };
    const vocab::VocabView* vocab_;
    const Stop* stop_ = nullptr;
    const bool fuses_unknown_;     // Unigram without tokens for bytes
    std::uint32_t continues_ = 0;  // WordPiece: the cell under which tokens continue a word
    std::uint64_t unknown_value_ = 0;
    double doubt_ = 0;  // ways whose scores differ by less are close
    bool is_sure_ = true;
    ShortWay short_way_;
    std::vector<WordStep> steps_;
    std::vector<FoundPiece> pieces_;  // from the last to the first
    std::vector<WordPart> parts_;
};

inline bool WordLookUp::is_unknown(Bytes word) const noexcept {
    if (!fuses_unknown_ || word[0] < 0xE0 || word.size() % 3 != 0) {
        return false;
    }
    const std::uint32_t* const char_nodes = vocab_->nodes().char_nodes;
    for (std::size_t at = 0; at < word.size(); at += 3) {
        const std::uint8_t* const c = word.data() + at;
        if (!is_lead3(c[0]) || char_nodes[decode3(c)] != vocab::Trie::kNoNode) {
            return false;
        }
    }
    return true;
}

}  // namespace tokenmill::encode
