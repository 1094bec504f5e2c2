#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "vocab/trie_build.h"
#include "vocab/walk.h"

namespace tokenmill::vocab {

namespace {

// Scores of which sums of so many are exact: all are multiples of a power of two.
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

    [[nodiscard]] bool stands_alone(Bytes token, double score) {
        constexpr double kNone = -std::numeric_limits<double>::infinity();
        best_.assign(token.size() + 1, kNone);
        best_[0] = 0;
        for (std::size_t at = 0; at < token.size(); ++at) {
            if (best_[at] == kNone) {
                continue;
            }
            const std::size_t behind = std::min(at + char_size(token[at]), token.size());
            best_[behind] = std::max(best_[behind], best_[at] + unknown_);
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
    double margin_;  // more than what rounding can do, wherever the token stands
    std::vector<double> best_;
};

void seed_pieces(const VocabInput& input, SelfTest test, Walk& walk) {
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (walk.flags[id] != 0 && id != input.unk_id && token.size() <= SelfTest::kLongestSeed &&
            test.stands_alone(token, input.scores[id])) {
            add_seed(token, id, {id}, false, walk);
        }
    }
}

// Of a character that no token covers: less than that of any token.
double unknown_score_of(std::span<const double> scores) {
    constexpr double kPenalty = 10.0;
    return (scores.empty() ? 0.0 : *std::min_element(scores.begin(), scores.end())) - kPenalty;
}

// See VocabView::doubt. What stands before a piece adds the same to all ways through it, but is
// rounded with them: every sum by half a unit of its last place at the most. That is an error for
// each way, with and without what stands before, so that four times as much decides.
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

// A word may be cut between characters that no token holds side by side, unless neither is a token:
// neighbouring unknown characters become one.
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
        while (last > 0 && is_continuation(token[last])) {
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

}  // namespace

InsideCuts compile_words(const VocabInput& input, const Deriver& deriver, Walk& walk,
                         BlobWriter& out) {
    const bool can_cut = input.kind == Kind::Unigram && !input.whole_text;
    CharacterTokens characters;
    std::vector<std::pair<std::string, std::uint32_t>> keys;
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (input.matchable[id] == 0 || token.empty() || deriver.find(token) != id) {
            continue;
        }
        walk.flags[id] = kMatchable | kReachable;
        const std::string text(token.begin(), token.end());
        keys.emplace_back(text, id);
        const std::string prefix(input.prefix.begin(), input.prefix.end());
        if (input.kind == Kind::WordPiece && text.size() > prefix.size() &&
            text.compare(0, prefix.size(), prefix) == 0) {
            keys.emplace_back(static_cast<char>(Trie::kContinues) + text.substr(prefix.size()), id);
        }
        if (can_cut) {
            walk.junctions.add_token(token);
            walk.adjacency.add_token(token);
            characters.add(token);
        }
        if (input.kind != Kind::Unigram &&
            count_chars(token.data(), token.size()) <= input.max_characters) {
            add_seed(token, id, {id}, false, walk);
        }
    }
    const std::vector<TrieNode> nodes = build_trie(std::move(keys));
    out.add(kTrie, nodes);
    out.add_bytes(kScores, input.scores.data(), input.scores.size_bytes(), 8);
    if (can_cut && input.unk_id < walk.flags.size()) {
        const std::uint64_t begin = input.token_offsets[input.unk_id];
        const std::uint64_t end = input.token_offsets[input.unk_id + 1];
        if (begin != end) {
            characters.remove_ends(input.token_bytes.subspan(begin, end - begin));
        }
    }
    const std::vector<bool>& is_token = characters.flags();
    const InsideCuts inside = learn_cuts(is_token, walk);
    // Where next to all wide characters are unknown, cuts are not worth their search.
    constexpr std::ptrdiff_t kFewWide = 2000;
    const auto n_wide = std::count(is_token.begin() + 0x800, is_token.end(), true);
    walk.junctions.write(can_cut && n_wide > kFewWide, out);
    Numbering numbers;
    numbers.external.assign(256, VocabView::kNoToken);
    for (std::size_t byte = 0; byte < input.byte_ids.size(); ++byte) {
        numbers.external.push_back(input.byte_ids[byte]);
    }
    numbers.first_byte_id = 256;
    out.add(kExternalIds, numbers.external);
    Scalars scalars = scalars_of(input, walk, numbers);
    scalars.unknown_score = unknown_score_of(input.scores);
    out.add_value(kScalars, scalars);
    if (can_cut) {
        const double doubt = doubt_of(input.scores, scalars.unknown_score);
        out.add_value(kDoubt, doubt);
        seed_pieces(input, SelfTest(nodes, input.scores, scalars.unknown_score, doubt), walk);
    }
    return inside;
}

}  // namespace tokenmill::vocab
