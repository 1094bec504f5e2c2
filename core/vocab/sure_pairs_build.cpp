// vocab: merges -> pairs of bytes that may be merged before all others.
#include "vocab/sure_pairs_build.h"

#include <algorithm>

namespace tokenmill::vocab {

namespace {

// The least merge that each symbol is a part of.
std::vector<std::uint32_t> least_uses(const std::vector<Derivation>& kept,
                                      const Numbering& numbers) {
    std::vector<std::uint32_t> least(numbers.external.size(), kNoMerge);
    for (const Derivation& merge : kept) {
        const std::uint32_t made = numbers.internal[merge.id];
        for (const TokenId part : {merge.left, merge.right}) {
            std::uint32_t& use = least[numbers.internal[part]];
            use = std::min(use, made);
        }
    }
    return least;
}

}  // namespace

std::vector<SurePair> find_sure_pairs(const VocabInput& input, const std::vector<Derivation>& kept,
                                      const Numbering& numbers) {
    const std::vector<std::uint32_t> least = least_uses(kept, numbers);
    std::vector<std::uint32_t> made(kSurePairs, kNeverMade);
    std::vector<std::uint32_t> least_left(kSurePairs, kNeverMade);
    std::vector<std::uint32_t> least_right(kSurePairs, kNeverMade);
    for (const Derivation& merge : kept) {
        const std::uint32_t id = numbers.internal[merge.id];
        const std::uint32_t left = numbers.internal[merge.left];
        const std::uint32_t right = numbers.internal[merge.right];
        if (right < 256) {
            std::uint32_t& of =
                least_left[std::uint32_t{token_of(input, merge.left).back()} << 8U | right];
            of = std::min(of, id);
        }
        if (left < 256) {
            std::uint32_t& of = least_right[left << 8 | token_of(input, merge.right).front()];
            of = std::min(of, id);
        }
        if (left < 256 && right < 256 && least[id] > id) {
            made[left << 8 | right] = id;
        }
    }
    std::vector<SurePair> pairs(kSurePairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = pack_sure_pair(made[i], least_left[i], least_right[i]);
    }
    return pairs;
}

}  // namespace tokenmill::vocab
