#include "vocab/unigram_build.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace

bool SelfTest::stands_alone(Bytes token, double score) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    best_.assign(token.size() + 1, kNone);
    best_[0] = 0;
    for (std::size_t at = 0; at < token.size(); ++at) {
        if (best_[at] == kNone) {
            continue;
        }
        const std::size_t behind = std::min(at + char_bytes(token[at]), token.size());
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

// What stands before a piece adds the same to all ways through it, but is rounded with them: every
// sum by half a unit of its last place at the most. That is an error for each way, with and without
// what stands before, so that four times as much decides.
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

InsideCuts write_cuts(const VocabInput& input, CharacterTokens& characters,
                      const AdjacencyBuilder& adjacency, JunctionBuilder& junctions,
                      BlobWriter& out) {
    if (input.unk_id + std::size_t{1} < input.token_offsets.size()) {
        const std::uint64_t begin = input.token_offsets[input.unk_id];
        const std::uint64_t end = input.token_offsets[input.unk_id + 1];
        if (begin != end) {
            characters.remove_ends(input.token_bytes.subspan(begin, end - begin));
        }
    }
    const std::vector<bool>& is_token = characters.flags();
    std::size_t n_wide = 0;
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        n_wide += is_token[code] ? 1 : 0;
        if (!is_token[code]) {
            junctions.add_unknown(code);
        }
    }
    // Where next to all wide characters are unknown, cuts are not worth their search.
    constexpr std::size_t kFewWide = 2000;
    junctions.write(n_wide > kFewWide, out);
    return adjacency.finish_inside(is_token);
}

}  // namespace tokenmill::vocab
