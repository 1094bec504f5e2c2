// vocab: the trie of a compiled model -> a view of it, for kinds that look words up.
#include <algorithm>

#include "vocab/view_check.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

// A step may read any base + byte, so every base must leave room for 256 places.
void VocabView::view_words(const BlobReader& blob) {
    const auto nodes = blob.get<TrieNode>(kTrie);
    trie = {nodes.data(), static_cast<std::uint32_t>(nodes.size())};
    for (const TrieNode& node : nodes) {
        if (node.token > scalars_.token_count || std::size_t{node.base} + 256 > nodes.size()) {
            corrupt("the trie leads out of its table");
        }
    }
    if (nodes.size() < 257) {
        corrupt("the trie is empty");
    }
    if (nodes.size() > SmallTrie::kMostNodes) {
        corrupt("the trie has too many nodes");
    }
    if (kind() == ModelKind::Unigram) {
        view_scores(blob);
    } else if (kind() == ModelKind::WordPiece) {
        const std::size_t wanted = std::size_t{trie.size} * 2 * sizeof(std::uint32_t);
        walk_memory_ = PageBuffer(wanted);
        copy_trie(walk_memory_.as<std::uint32_t>());
        if (scalars_.max_characters != 0 && unk_id() < token_count()) {
            list_words_of_one();
        }
    }
}

// Look-ups touch the trie all over, so the columns that a walk needs are copied: cells, then
// tokens.
void VocabView::copy_trie(std::uint32_t* cells) {
    std::uint32_t* const tokens = cells + trie.size;
    constexpr std::uint32_t kAhead = 32;  // nodes: parents are all over the table
    for (std::uint32_t i = 0; i < trie.size; ++i) {
        const TrieNode& node = trie.nodes[i];
        const TrieNode& later = trie.nodes[std::min(i + kAhead, trie.size - 1)];
        __builtin_prefetch(trie.nodes + std::min(later.parent, trie.size - 1));
        const bool is_child = node.parent < trie.size;
        // Free places have a byte that cannot have led there from the base of a leaf, which is 0.
        const std::uint32_t byte = is_child ? i - trie.nodes[node.parent].base : i + 1;
        const bool has_token = is_child && node.token != 0;
        cells[i] = SmallTrie::make_cell(node.base, has_token, static_cast<std::uint8_t>(byte));
        tokens[i] = node.token;
    }
    small_trie = {cells};
    node_tokens = tokens;
}

// Words that are one character of three bytes: a token or the unknown one.
void VocabView::list_words_of_one() {
    char_values.assign(0x10000, pack_ids(&scalars_.unk_id, 1));
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        const std::uint8_t bytes[3] = {static_cast<std::uint8_t>(0xE0 | code >> 12),
                                       static_cast<std::uint8_t>(0x80 | (code >> 6 & 63)),
                                       static_cast<std::uint8_t>(0x80 | (code & 63))};
        std::uint32_t node = Trie::kRoot;
        for (std::size_t i = 0; i < 3 && node != Trie::kNoNode; ++i) {
            node = trie.step(node, bytes[i]);
        }
        if (node != Trie::kNoNode && trie.nodes[node].token != 0) {
            const TokenId id = trie.nodes[node].token - 1;
            char_values[code] = pack_ids(&id, 1);
        }
    }
}

// A mapped file has small pages: what a walk needs is copied to large ones.
//
//   memory   scores (double) | cells | tokens | char_nodes     all by node but the last, by code
//   point
void VocabView::view_scores(const BlobReader& blob) {
    const auto scores = blob.need<double>(kScores, scalars_.token_count);
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    constexpr std::size_t kCharacters = 0x10000;
    const std::size_t node_bytes = sizeof(double) + 2 * sizeof(std::uint32_t);
    const std::size_t wanted = trie.size * node_bytes + kCharacters * sizeof(std::uint32_t);
    walk_memory_ = PageBuffer(std::max(wanted, kLargePage), Pages::Large);
    auto* const values = walk_memory_.as<double>();
    auto* const cells = reinterpret_cast<std::uint32_t*>(values + trie.size);
    copy_trie(cells);
    for (std::uint32_t i = 0; i < trie.size; ++i) {
        if ((cells[i] & SmallTrie::kToken) != 0) {
            values[i] = scores[trie.nodes[i].token - 1];
        }
    }
    values[Trie::kRoot] = scalars_.unknown_score;
    node_scores = values;
    char_nodes = {cells + 2 * std::size_t{trie.size}, kCharacters};
    std::fill(char_nodes.begin(), char_nodes.end(), Trie::kNoNode);
    walk_characters(Trie::kRoot, 0, 0);
    const auto doubts = blob.get<double>(kDoubt);
    doubt = doubts.empty() ? 0 : doubts[0];
    if (scalars_.whole_text != 0) {  // one word, whatever its length
        text_scores.assign(scores.begin(), scores.end());
        return;
    }
    can_cut_wide_ =
        std::any_of(junctions.words, junctions.words + (1U << JunctionFilter::kWordBits),
                    [](std::uint32_t word) { return word != 0xFFFFFFFFU; });
}

// Fills char_nodes below a node; `code` are the bits so far, `more` bytes of the character are
// missing.
void VocabView::walk_characters(std::uint32_t node, std::uint32_t code, unsigned more) {
    const bool is_first = node == Trie::kRoot;
    for (unsigned byte = is_first ? 0 : 0x80; byte < (is_first ? 0xF0U : 0xC0U); ++byte) {
        const std::uint32_t next = trie.step(node, static_cast<std::uint8_t>(byte));
        if (next == Trie::kNoNode || (is_first && byte >= 0x80 && byte < 0xC0)) {
            continue;
        }
        const unsigned size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : 3;
        const unsigned left = is_first ? size - 1 : more - 1;
        const std::uint32_t bits = !is_first   ? code << 6 | (byte & 63U)
                                   : size == 1 ? byte
                                               : byte & (size == 2 ? 31U : 15U);
        if (left == 0) {
            char_nodes[bits] = next;
        } else {
            walk_characters(next, bits, left);
        }
    }
}

}  // namespace tokenmill::vocab
