// Words that are not merged but looked up piece by piece: WordPiece, Unigram, WordLevel.
#pragma once

#include <vector>

#include "base/types.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// The bytes of a word that an id stands for.
struct Part {
    std::uint32_t begin;
    std::uint32_t end;
};

class WordLookUp {
public:
    explicit WordLookUp(const vocab::VocabView& vocab) : vocab_(&vocab) {}

    // Ids of `word`, replacing what `ids` held. White space alone has none where the split leaves
    // it to us to drop it.
    void look_up(Bytes word, std::vector<std::uint32_t>& ids);
    // What the ids of the last word stand for.
    [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }

private:
    void longest_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void best_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void list_characters(Bytes word);
    void offer_pieces(Bytes word, std::size_t number);
    void collect_pieces(Bytes word, std::vector<std::uint32_t>& ids);
    void append_unknown(Bytes text, Part part, std::vector<std::uint32_t>& ids);
    void append(TokenId id, Part part, std::vector<std::uint32_t>& ids);

    // The best way to the end of a prefix of the word.
    struct Step {
        double score;
        std::uint32_t begin;  // of its last piece
        TokenId id;           // kNotReached: no way yet
    };
    struct Character {
        std::uint32_t begin;
        std::uint32_t node;  // where the trie is behind it
    };
    struct Piece {
        std::uint32_t begin;
        std::uint32_t end;
        TokenId id;
    };
    const vocab::VocabView* vocab_;
    std::vector<Step> steps_;
    std::vector<Character> characters_;  // and one behind the last
    std::vector<Piece> pieces_;
    std::vector<Part> parts_;
};

}  // namespace tokenmill::encode
