// vocab: tokens -> a Trie. Internal to vocab.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vocab/trie.h"

namespace tokenmill::vocab {

using TrieKeys = std::vector<std::pair<std::string, TmU32>>;

// Keys with the ids of their tokens, in any order; of two equal keys the first one counts.
[[nodiscard]] std::vector<TrieNode> build_trie(TrieKeys keys);

}  // namespace tokenmill::vocab
