// Tokens by their bytes, one step a byte: a double array. A node's children stand at base + byte,
// and each names its parent, so that one load decides a step. Freestanding.
#pragma once

#include "base/device.h"

namespace tokenmill::vocab {

struct TrieNode {
    TmU32 base;
    TmU32 parent;  // node number, kNoNode for a free place
    TmU32 token;   // id + 1 of the token that ends here, 0 for none
};

// A node with the score of the token that ends there instead of its id: one load more is saved.
struct ScoredNode {
    TmU32 base;
    TmU32 parent;
    double score;  // not a number: no token ends here
};

struct Trie {
    const TrieNode* nodes;  // the last 256 places are free: a step never leaves the array
    TmU32 size;

    static constexpr TmU32 kRoot = 0;
    static constexpr TmU32 kNoNode = 0xFFFFFFFFU;
    static constexpr TmU8 kContinues = 0xFF;  // not in UTF-8: leads to what continues a word

    TOKENMILL_HD TmU32 step(TmU32 node, TmU8 byte) const {
        const TmU32 next = nodes[node].base + byte;
        return nodes[next].parent == node ? next : kNoNode;
    }
};

}  // namespace tokenmill::vocab
