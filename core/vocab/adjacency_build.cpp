// vocab: tokens -> which neighbours they join.
#include "vocab/adjacency_build.h"

namespace tokenmill::vocab {

// Pairs of neighbouring bytes, and pairs of the first bytes of neighbouring characters.
void AdjacencyBuilder::add_token(Bytes token) {
    for (std::size_t i = 1; i < token.size(); ++i) {
        pairs_.insert({token[i - 1], token[i]});
    }
    std::size_t last = 0;
    for (std::size_t i = 1; i < token.size(); ++i) {
        if (!is_continuation(token[i])) {
            characters_.insert({token[last], token[i]});
            last = i;
        }
    }
}

// A pair of classes that only few tokens join is still cut, and those pairs are exceptions.
Adjacency AdjacencyBuilder::finish() const {
    constexpr std::size_t kFew = 2;
    std::size_t counts[kByteClasses][kByteClasses] = {};
    for (const auto& [left, right] : pairs_) {
        ++counts[number_of(left)][number_of(right)];
    }
    Adjacency result;
    const auto join = [&](std::size_t left, std::size_t right) {
        result.joins[right] = static_cast<std::uint8_t>(result.joins[right] | 1U << left);
    };
    join(number_of(0x80), number_of(0x80));  // the bytes of a character
    for (const auto& [left, right] : pairs_) {
        const std::size_t a = number_of(left);
        const std::size_t b = number_of(right);
        const bool is_wide = a == number_of(0x80) || b == number_of(0x80);
        if (counts[a][b] > kFew || is_wide || result.exception_count == Adjacency::kMaxExceptions) {
            join(a, b);
        } else {
            result.exceptions[result.exception_count][0] = left;
            result.exceptions[result.exception_count++][1] = right;
        }
    }
    return result;
}

// Per byte, whether a pair may be cut; and per class, whether looking for cuts is worth it.
InsideCuts AdjacencyBuilder::finish_inside(const std::vector<bool>& is_token) const {
    InsideCuts result;
    std::size_t possible[kByteClasses][kByteClasses] = {};
    std::size_t counts[kByteClasses][kByteClasses] = {};
    const auto is_unknown = [&](unsigned byte) { return byte >= 0x80 || !is_token[byte]; };
    for (unsigned i = 0; i < 0x10000; ++i) {
        const auto left = static_cast<std::uint8_t>(i >> 8);
        const auto right = static_cast<std::uint8_t>(i);
        const bool is_usual =
            (left >= 0x80 || is_token[left]) && (right >= 0x80 || is_token[right]);
        possible[number_of(left)][number_of(right)] += is_usual ? 1 : 0;
        if (is_unknown(left) && is_unknown(right)) {
            result.join(left, right);
        }
    }
    for (const auto& [left, right] : characters_) {
        result.join(left, right);
        ++counts[number_of(left)][number_of(right)];
    }
    const std::size_t wide = number_of(0x80);
    counts[wide][wide] = possible[wide][wide] + 1;  // left to the junctions
    constexpr std::size_t kOften = 4;  // of classes that a quarter of all pairs join, none is cut
    for (std::size_t left = 0; left < kByteClasses; ++left) {
        for (std::size_t right = 0; right < kByteClasses; ++right) {
            if (kOften * counts[left][right] > possible[left][right]) {
                result.joins[right] = static_cast<std::uint8_t>(result.joins[right] | 1U << left);
            }
        }
    }
    return result;
}

}  // namespace tokenmill::vocab
