// Tokens by their bytes, one step for each byte: a double array. The child of a node for a byte is
// at base + byte and names its parent, so that one load decides a step. Freestanding.
#pragma once

#include "base/device.h"

namespace tokenmill::vocab {

struct TrieNode {
    TmU32 base;
    TmU32 parent;  // node number, kNoNode for a free place
    TmU32 token;   // id + 1 of the token that ends here, 0 for none
};

// The same steps in a third of the memory: no two nodes have the same base, so the byte that leads
// to a node identifies its parent.
struct SmallTrie {
    // base << 9 | a token ends here << 8 | the byte that leads here. Free places have a byte that
    // leads there from no base, see kNoBase. The last 256 places are free: a step never leaves the
    // array.
    const TmU32* cells;

    static constexpr TmU32 kNoNode = 0xFFFFFFFFU;
    static constexpr TmU8 kNoBase = 0xFF;  // no base ends in this byte
    static constexpr TmU32 kMostNodes = TmU32(1) << 23;
    static constexpr TmU32 kToken = 0x100;

    TOKENMILL_HD static TmU32 make_cell(TmU32 base, bool has_token, TmU8 byte) {
        return base << 9 | (has_token ? kToken : 0U) | byte;
    }
    // From a cell; only if leads_to() holds for the cell there is it a child.
    TOKENMILL_HD static TmU32 child(TmU32 cell, TmU8 byte) { return (cell >> 9) + byte; }
    TOKENMILL_HD static bool leads_to(TmU32 cell, TmU8 byte) { return TmU8(cell) == byte; }
    TOKENMILL_HD TmU32 step(TmU32 node, TmU8 byte) const {
        const TmU32 next = child(cells[node], byte);
        return leads_to(cells[next], byte) ? next : kNoNode;
    }
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
