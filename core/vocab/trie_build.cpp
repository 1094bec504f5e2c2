// vocab: tokens -> a Trie.
#include "vocab/trie_build.h"

#include <algorithm>
#include <array>

namespace tokenmill::vocab {

namespace {

class TrieBuilder {
public:
    explicit TrieBuilder(const TrieKeys& keys) : keys_(keys) {
        nodes_.resize(1024, TrieNode{0, Trie::kNoNode, 0});
        nodes_[Trie::kRoot].parent = Trie::kNoNode - 1;  // taken, and nobody's child
    }

    std::vector<TrieNode> build() {
        // A list of ranges instead of recursion: keys may be as long as they like.
        std::vector<KeyRange> open = {{0, keys_.size(), 0, Trie::kRoot}};
        while (!open.empty()) {
            const KeyRange range = open.back();
            open.pop_back();
            place_children(range, open);
        }
        nodes_.resize(used_ + 256, TrieNode{0, Trie::kNoNode, 0});
        return std::move(nodes_);
    }

private:
    struct KeyRange {  // keys that share their first `depth` bytes
        std::size_t begin;
        std::size_t end;
        std::size_t depth;
        TmU32 node;
    };

    // Gives a node its token and its children, all at once: where they fit is its base.
    void place_children(const KeyRange& range, std::vector<KeyRange>& open) {
        std::size_t begin = range.begin;
        while (begin < range.end && keys_[begin].first.size() == range.depth) {
            if (nodes_[range.node].token == 0) {
                nodes_[range.node].token = keys_[begin].second + 1;
            }
            ++begin;
        }
        std::vector<KeyRange> children;
        std::vector<TmU8> bytes;
        while (begin < range.end) {
            const char byte = keys_[begin].first[range.depth];
            std::size_t end = begin;
            while (end < range.end && keys_[end].first[range.depth] == byte) {
                ++end;
            }
            children.push_back({begin, end, range.depth + 1, 0});
            bytes.push_back(static_cast<TmU8>(byte));
            begin = end;
        }
        if (children.empty()) {
            nodes_[range.node].base = 0;  // no child of the root is ours: a step finds none
            return;
        }
        const TmU32 base = find_base(bytes);
        taken_bases_.resize(std::max<std::size_t>(taken_bases_.size(), nodes_.size()));
        taken_bases_[base] = true;
        nodes_[range.node].base = base;
        for (std::size_t i = 0; i < children.size(); ++i) {
            const TmU32 place = base + bytes[i];
            nodes_[place].parent = range.node;
            used_ = std::max<std::size_t>(used_, place + std::size_t{1});
            children[i].node = place;
            open.push_back(children[i]);
        }
        while (nodes_[first_free_].parent != Trie::kNoNode) {
            reserve(++first_free_);
        }
    }

    // Nodes with one child fill the holes between the others. A place that does not fit one byte
    // never will, so each byte continues its search. Nodes with several start where an earlier
    // one found room after a long search, so that crowded parts are not searched again.
    TmU32 find_base(const std::vector<TmU8>& bytes) {
        const bool is_single = bytes.size() == 1;
        std::size_t& from = is_single ? single_from_[bytes[0]] : search_from_;
        std::size_t tries = 0;
        for (std::size_t place = std::max(first_free_, from);; ++place) {
            reserve(place + 256);
            if (is_single || ++tries > kPatience) {
                from = place;
            }
            if (nodes_[place].parent != Trie::kNoNode) {
                continue;
            }
            const std::size_t base = place - bytes[0];
            if (static_cast<TmU8>(base) == SmallTrie::kNoBase ||
                (base < taken_bases_.size() && taken_bases_[base])) {
                continue;
            }
            const bool fits = std::all_of(bytes.begin(), bytes.end(), [&](TmU8 byte) {
                return nodes_[base + byte].parent == Trie::kNoNode;
            });
            if (fits) {
                return static_cast<TmU32>(base);
            }
        }
    }

    // Free places up to 256 beyond `place`, so that any byte can be added to it.
    void reserve(std::size_t place) {
        if (place + 256 >= nodes_.size()) {
            nodes_.resize(2 * (place + 256), TrieNode{0, Trie::kNoNode, 0});
        }
    }

    static constexpr std::size_t kPatience = 64;

    const TrieKeys& keys_;
    std::vector<TrieNode> nodes_;
    std::vector<bool> taken_bases_;  // no two nodes have the same one
    std::size_t used_ = 1;
    std::size_t first_free_ = 257;  // below it, base would be negative for some byte
    std::size_t search_from_ = 257;
    std::array<std::size_t, 256> single_from_{};
};

}  // namespace

std::vector<TrieNode> build_trie(TrieKeys keys) {
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return TrieBuilder(keys).build();
}

}  // namespace tokenmill::vocab
