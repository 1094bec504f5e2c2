// encode/short_way: a word of up to 32 bytes -> the pieces with the greatest sum of scores, for
// Unigram. Most words that no table knows are this short.
#pragma once

#include "base/types.h"
#include "base/utf8.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

// The node of a character in the trie, or kNoNode.
[[nodiscard]] inline std::uint32_t first_node(const vocab::NodeTables& nodes,
                                              Bytes character) noexcept {
    const std::uint8_t* const c = character.data();
    if (character.size() == 1) {
        return nodes.char_nodes[c[0]];
    }
    if (character.size() == 3) {
        return nodes.char_nodes[decode3(c)];
    }
    if (character.size() == 2) {
        return nodes.char_nodes[(c[0] & 31U) << 6 | (c[1] & 63U)];
    }
    std::uint32_t node = vocab::Trie::kRoot;
    for (std::size_t i = 0; i < character.size() && node != vocab::Trie::kNoNode; ++i) {
        node = nodes.trie.step(node, c[i]);
    }
    return node;
}

struct ShortWay {
    static constexpr std::size_t kLongest = 32;

    struct Piece {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t node;  // in the trie; the root if it is one unknown character
    };

    // Sums are added from the left, and the first of equals is kept. Scores that differ by less
    // than `doubt` are close.
    void find(const vocab::VocabView& vocab, Bytes word, double doubt) noexcept;

    Piece pieces[kLongest];  // from the last to the first
    std::uint32_t count = 0;
    bool is_close = false;  // does one of the pieces have a rival whose sum is close?
};

}  // namespace tokenmill::encode
