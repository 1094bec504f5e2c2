// vocab: a Unigram vocabulary -> its sections. Words are looked up in a trie; the way through a
// word with the best sum of scores wins. What makes this hard is that words may be cut: pieces must
// get the ids that the whole word would have given them, down to the rounding of the sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "vocab/trie_build.h"
#include "vocab/walk.h"

namespace tokenmill::vocab {

namespace {

// Are sums of scores exact, however many a word can have? They are if all scores are multiples of
// one power of two and no sum needs more than the 53 bits of a double.
bool adds_up_exactly(std::span<const double> scores, double largest) {
    constexpr double kMost = 0x1p53;
    double unit = 1;
    for (const double score : scores) {
        while (score / unit != std::floor(score / unit)) {
            unit /= 2;
            if (largest / unit * kLongestCutWord * 2 > kMost) {
                return false;
            }
        }
    }
    return largest / unit * kLongestCutWord * 2 <= kMost;
}

// Tests whether a token surely becomes itself when it is looked up: whether its score is better
// than that of all ways to make it of other tokens.
class SelfTest {
public:
    SelfTest(const std::vector<TrieNode>& nodes, std::span<const double> scores, double unknown,
             double doubt)
        : trie_{nodes.data(), static_cast<std::uint32_t>(nodes.size())},
          scores_(scores),
          unknown_(unknown),
          margin_(kMargin + static_cast<double>(kLongestSeed) * doubt) {}

    static constexpr std::size_t kLongestSeed = 16;

    [[nodiscard]] bool stands_alone(Bytes token, double score) {
        constexpr double kNone = -std::numeric_limits<double>::infinity();
        best_.assign(token.size() + 1, kNone);
        best_[0] = 0;
        for (std::size_t at = 0; at < token.size(); ++at) {
            if (best_[at] == kNone) {
                continue;
            }
            const std::size_t after = std::min(at + char_size(token[at]), token.size());
            best_[after] = std::max(best_[after], best_[at] + unknown_);
            std::uint32_t node = Trie::kRoot;
            for (std::size_t end = at; end < token.size(); ++end) {
                node = trie_.step(node, token[end]);
                if (node == Trie::kNoNode) {
                    break;
                }
                const bool is_whole = at == 0 && end + 1 == token.size();
                if (trie_.nodes[node].token != 0 && !is_whole) {
                    const double piece = scores_[trie_.nodes[node].token - 1];
                    best_[end + 1] = std::max(best_[end + 1], best_[at] + piece);
                }
            }
        }
        return score > best_.back() + margin_;
    }

private:
    static constexpr double kMargin = 1e-6;

    Trie trie_;
    std::span<const double> scores_;
    double unknown_;
    double margin_;             // more than rounding can change, wherever the token is in a word
    std::vector<double> best_;  // of the token's first i bytes
};

// Only tokens that are themselves wherever they occur may be known in advance.
void seed_pieces(const VocabInput& input, SelfTest test, Walk& walk) {
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const Bytes token = token_of(input, id);
        if (walk.flags[id] != 0 && id != input.unk_id && token.size() <= SelfTest::kLongestSeed &&
            test.stands_alone(token, input.scores[id])) {
            add_seed(token, id, {id}, false, walk);
        }
    }
}

// See VocabView::doubt. Text before a piece adds the same score to all ways through the piece, but
// is rounded with them: every sum by at most half a unit of its last place. That error occurs in
// both ways that are compared, with and without the text before, so four times as much is safe.
double doubt_of(std::span<const double> scores, double unknown_score) {
    double largest = std::abs(unknown_score);
    for (const double score : scores) {
        largest = std::max(largest, std::abs(score));
    }
    std::vector<double> all(scores.begin(), scores.end());
    all.push_back(unknown_score);
    if (adds_up_exactly(all, largest)) {
        return 0;
    }
    constexpr double kHalfUnit = 0x1p-53;
    return 4 * kHalfUnit * (2 * kLongestCutWord) * largest;
}

// A word may be cut between characters that no token holds next to each other, unless neither is a
// token: neighbouring unknown characters become one.
InsideCuts learn_cuts(const std::vector<bool>& is_token, Walk& walk) {
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        if (!is_token[code]) {
            walk.junctions.add_unknown(code);
        }
    }
    return walk.adjacency.finish_inside(is_token);
}

// Which characters of one and of three bytes are tokens. Those at the ends of the unknown token do
// not count: it becomes one with unknown neighbours, too.
class CharacterTokens {
public:
    void add(Bytes token) {
        if (const std::size_t size = char_size(token[0]); size == token.size()) {
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
        const std::size_t size = char_size(text[0]);
        if (size == 1 && text[0] < 0x80) {
            flags_[text[0]] = value;
        } else if (size == 3 && text.size() >= 3) {
            flags_[decode3(text.data())] = value;
        }
    }

    std::vector<bool> flags_ = std::vector<bool>(0x10000);
};

// What one walk over the tokens collects.
struct UnigramTokens {
    CharacterTokens characters;
    TrieKeys keys;
};

// Visits every token once. A text that stays whole is never cut, so its tokens teach nothing.
UnigramTokens visit_tokens(const VocabInput& input, const Deriver& deriver, bool can_cut,
                           Walk& walk) {
    UnigramTokens found;
    for_each_token(input, deriver, [&](TokenId id, Bytes token) {
        walk.flags[id] = kMatchable | kReachable;
        found.keys.emplace_back(std::string(token.begin(), token.end()), id);
        if (can_cut) {
            walk.junctions.add_token(token);
            walk.adjacency.add_token(token);
            found.characters.add(token);
        }
    });
    if (can_cut && input.unk_id < walk.flags.size()) {
        if (const Bytes unknown = token_of(input, input.unk_id); !unknown.empty()) {
            found.characters.remove_ends(unknown);
        }
    }
    return found;
}

// The nodes of basic characters by code point, so that most walks start after a character.
class CharacterNodes {
public:
    explicit CharacterNodes(const std::vector<TrieNode>& nodes)
        : trie_{nodes.data(), static_cast<std::uint32_t>(nodes.size())} {
        walk(Trie::kRoot, 0, 0);
    }
    [[nodiscard]] const std::vector<std::uint32_t>& list() const noexcept { return list_; }

private:
    // Continues at a node; `code` are the bits so far, `more` bytes of the character are missing.
    void walk(std::uint32_t node, std::uint32_t code, unsigned more) {
        const bool is_first = node == Trie::kRoot;
        for (unsigned byte = is_first ? 0 : 0x80; byte < (is_first ? 0xF0U : 0xC0U); ++byte) {
            const std::uint32_t next = trie_.step(node, static_cast<std::uint8_t>(byte));
            if (next == Trie::kNoNode || (is_first && byte >= 0x80 && byte < 0xC0)) {
                continue;
            }
            const unsigned size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : 3;
            const unsigned left = is_first ? size - 1 : more - 1;
            const std::uint32_t bits = !is_first   ? code << 6 | (byte & 63U)
                                       : size == 1 ? byte
                                                   : byte & (size == 2 ? 31U : 15U);
            if (left == 0) {
                list_[bits] = next;
            } else {
                walk(next, bits, left);
            }
        }
    }

    Trie trie_;
    std::vector<std::uint32_t> list_ = std::vector<std::uint32_t>(kBasicCodes, Trie::kNoNode);
};

// Scores by node, so that a walk reads them without a look at the token.
void write_scores(const VocabInput& input, const std::vector<TrieNode>& nodes, double unknown_score,
                  BlobWriter& out) {
    std::vector<double> scores(nodes.size(), 0.0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].token != 0) {
            scores[i] = input.scores[nodes[i].token - 1];
        }
    }
    scores[Trie::kRoot] = unknown_score;
    out.add(kNodeScores, scores);
    out.add(kCharNodes, CharacterNodes(nodes).list());
    if (input.whole_text) {
        out.add_bytes(kScores, input.scores.data(), input.scores.size_bytes(), 8);
    }
}

}  // namespace

// The order of the sections is part of the format.
InsideCuts compile_unigram(const VocabInput& input, const Deriver& deriver, Walk& walk,
                           BlobWriter& out) {
    const bool can_cut = !input.whole_text;
    UnigramTokens found = visit_tokens(input, deriver, can_cut, walk);
    const std::vector<TrieNode> nodes = build_trie(std::move(found.keys));
    if (!can_cut) {
        join_everything(walk);
        write_scores(input, nodes, write_words(input, walk, nodes, false, out), out);
        return {};
    }
    const std::vector<bool>& is_token = found.characters.flags();
    const InsideCuts inside = learn_cuts(is_token, walk);
    // Where nearly all wide characters are unknown, cuts are not worth the search for them.
    constexpr std::ptrdiff_t kFewWide = 2000;
    const auto n_wide = std::count(is_token.begin() + 0x800, is_token.end(), true);
    const double unknown_score = write_words(input, walk, nodes, n_wide > kFewWide, out);
    write_scores(input, nodes, unknown_score, out);
    const double doubt = doubt_of(input.scores, unknown_score);
    out.add_value(kDoubt, doubt);
    seed_pieces(input, SelfTest(nodes, input.scores, unknown_score, doubt), walk);
    return inside;
}

}  // namespace tokenmill::vocab
