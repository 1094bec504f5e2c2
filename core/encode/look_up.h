// Words that are not merged but looked up piece by piece: WordPiece, Unigram, WordLevel.
#pragma once

#include <vector>

#include "base/types.h"
#include "base/utf8.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// The bytes of a word that an id stands for.
struct Part {
    std::uint32_t begin;
    std::uint32_t end;
};

class WordLookUp {
public:
    explicit WordLookUp(const vocab::VocabView& vocab);

    // Ids of `word`, replacing what `ids` held. White space alone has none where the split leaves
    // it to us to drop it.
    void look_up(Bytes word, std::vector<std::uint32_t>& ids);
    // What the ids of the last word stand for.
    [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
    // Asks for what looking a word up begins with.
    void prefetch(Bytes word) const noexcept;
    // Is every character of three bytes, and one that no token begins with? Then all of the word is
    // one unknown token. Says no where that may not be so.
    [[nodiscard]] bool is_unknown(Bytes word) const noexcept;
    [[nodiscard]] std::uint64_t unknown_value() const noexcept { return unknown_value_; }
    // Would the last word have the same ids behind other text that no token joins with it?
    [[nodiscard]] bool is_sure() const noexcept { return is_sure_; }

private:
    void longest_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void best_pieces(Bytes word);
    void best_pieces_short(Bytes word);
    [[nodiscard]] std::uint32_t first_node(Bytes word, std::size_t at, std::size_t size) const;
    void offer(std::size_t begin, std::size_t end, double score, std::uint32_t node);
    void collect_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void append_unknown(Bytes text, Part part, bool may_be_token, std::vector<std::uint32_t>& ids);
    void append(TokenId id, Part part, std::vector<std::uint32_t>& ids);

    // The best way to the end of a prefix of the word.
    struct Step {
        double score;         // not a number: no way yet
        std::uint32_t begin;  // of its last piece
        std::uint32_t node;   // where the trie is behind it; the root: unknown; kClose: see doubt_
    };
    struct Piece {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t node;  // the root, if all of it is unknown
        TokenId id;
    };
    const vocab::VocabView* vocab_;
    const bool fuses_unknown_;  // Unigram without tokens for bytes
    std::uint64_t unknown_value_ = 0;
    double doubt_ = 0;  // ways whose scores differ by less are close
    bool is_sure_ = true;
    std::vector<Step> steps_;
    std::vector<Piece> pieces_;
    std::vector<Part> parts_;
};

inline bool WordLookUp::is_unknown(Bytes word) const noexcept {
    if (!fuses_unknown_ || word[0] < 0xE0 || word.size() % 3 != 0) {
        return false;
    }
    for (std::size_t at = 0; at < word.size(); at += 3) {
        const std::uint8_t* const c = word.data() + at;
        if (!is_lead3(c[0]) || vocab_->char_nodes[decode3(c)] != vocab::Trie::kNoNode) {
            return false;
        }
    }
    return true;
}

}  // namespace tokenmill::encode
