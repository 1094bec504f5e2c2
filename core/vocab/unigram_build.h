// What a Unigram vocabulary says about its tokens alone: which words may be cut where, and which
// tokens are surely themselves. Indoors of vocab.
#pragma once

#include <span>
#include <vector>

#include "base/adjacency.h"
#include "base/characters.h"
#include "base/types.h"
#include "vocab/adjacency_build.h"
#include "vocab/junction_build.h"
#include "vocab/trie.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

// Is a token surely what it becomes when it is looked up: better than all pieces of it together?
class SelfTest {
public:
    SelfTest(const std::vector<TrieNode>& nodes, std::span<const double> scores, double unknown,
             double doubt)
        : trie_{nodes.data(), static_cast<std::uint32_t>(nodes.size())},
          scores_(scores),
          unknown_(unknown),
          margin_(kMargin + static_cast<double>(kLongestSeed) * doubt) {}

    static constexpr std::size_t kLongestSeed = 16;

    [[nodiscard]] bool stands_alone(Bytes token, double score);

private:
    static constexpr double kMargin = 1e-6;

    Trie trie_;
    std::span<const double> scores_;
    double unknown_;
    double margin_;  // more than what rounding can do, wherever the token stands
    std::vector<double> best_;
};

// Which characters of one and of three bytes are tokens. Those at the ends of the unknown token do
// not count: it becomes one with unknown neighbours, too.
class CharacterTokens {
public:
    void add(Bytes token) {
        if (const std::size_t size = char_bytes(token[0]); size == token.size()) {
            mark(token, true);
        }
    }
    void remove_ends(Bytes token) {
        std::size_t last = token.size() - 1;
        while (last > 0 && (token[last] & 0xC0) == 0x80) {
            --last;
        }
        mark(token, false);
        mark(token.subspan(last), false);
    }
    [[nodiscard]] const std::vector<bool>& flags() const noexcept { return flags_; }

private:
    void mark(Bytes text, bool value) {
        const std::size_t size = char_bytes(text[0]);
        if (size == 1 && text[0] < 0x80) {
            flags_[text[0]] = value;
        } else if (size == 3 && text.size() >= 3) {
            flags_[(text[0] & 15U) << 12 | (text[1] & 63U) << 6 | (text[2] & 63U)] = value;
        }
    }

    std::vector<bool> flags_ = std::vector<bool>(0x10000);
};

// See VocabView::doubt.
[[nodiscard]] double doubt_of(std::span<const double> scores, double unknown_score);

// Writes the junctions that may be cut, and returns what else may: between characters that no token
// holds side by side, unless neither is a token, as neighbouring unknown characters become one.
[[nodiscard]] InsideCuts write_cuts(const VocabInput& input, CharacterTokens& characters,
                                    const AdjacencyBuilder& adjacency, JunctionBuilder& junctions,
                                    BlobWriter& out);

}  // namespace tokenmill::vocab
