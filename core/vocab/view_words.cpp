// vocab: the trie of a compiled model -> a view of it, for kinds that look words up.
#include <algorithm>

#include "base/utf8.h"
#include "vocab/view_check.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

// A step may read any base + byte, so every base must leave room for 256 places. No branches: this
// takes most of the time to load a large model.
bool leads_out(std::span<const std::uint32_t> cells, std::span<const std::uint32_t> tokens,
               std::uint32_t token_count) {
    const auto last_base = static_cast<std::uint32_t>(cells.size()) - 256;
    unsigned wrong = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool lacks_token = (cells[i] & SmallTrie::kToken) > tokens[i] * SmallTrie::kToken;
        wrong |= static_cast<unsigned>(cells[i] >> 9 > last_base) |
                 static_cast<unsigned>(tokens[i] > token_count) |
                 static_cast<unsigned>(lacks_token);
    }
    return wrong != 0;
}

}  // namespace

void VocabView::view_words(const BlobReader& blob) {
    const auto cells = blob.get<std::uint32_t>(kTrieCells);
    const auto tokens = blob.need<std::uint32_t>(kNodeTokens, cells.size());
    if (cells.size() < 257) {
        corrupt("the trie is empty");
    }
    if (cells.size() > SmallTrie::kMostNodes) {
        corrupt("the trie has too many nodes");
    }
    if (leads_out(cells, tokens, scalars_.token_count)) {
        corrupt("the trie leads out of its table");
    }
    stored_nodes_.trie = {cells.data()};
    stored_nodes_.size = static_cast<std::uint32_t>(cells.size());
    stored_nodes_.tokens = tokens.data();
    if (kind() == ModelKind::Unigram) {
        view_scores(blob);
    } else if (kind() == ModelKind::WordPiece && scalars_.max_characters != 0 &&
               unk_id() < token_count()) {
        list_words_of_one();
    }
}

// Words that are one character of three bytes: a token or the unknown one.
void VocabView::list_words_of_one() {
    char_values.assign(kBasicCodes, pack_ids(&scalars_.unk_id, 1));
    for (std::uint32_t code = 0x800; code < kBasicCodes; ++code) {
        std::uint8_t bytes[3];
        encode3(code, bytes);
        std::uint32_t node = Trie::kRoot;
        for (std::size_t i = 0; i < 3 && node != Trie::kNoNode; ++i) {
            node = stored_nodes_.trie.step(node, bytes[i]);
        }
        if (node != Trie::kNoNode && stored_nodes_.tokens[node] != 0) {
            const TokenId id = stored_nodes_.tokens[node] - 1;
            char_values[code] = pack_ids(&id, 1);
        }
    }
}

void VocabView::view_scores(const BlobReader& blob) {
    stored_nodes_.scores = blob.need<double>(kNodeScores, stored_nodes_.size).data();
    const auto characters = blob.need<std::uint32_t>(kCharNodes, kBasicCodes);
    stored_nodes_.char_nodes = characters.data();
    for (const std::uint32_t node : characters) {
        if (node >= stored_nodes_.size && node != Trie::kNoNode) {
            corrupt("a character has a node that does not exist");
        }
    }
    const auto doubts = blob.get<double>(kDoubt);
    doubt = doubts.empty() ? 0 : doubts[0];
    if (scalars_.whole_text != 0) {  // one word, whatever its length
        const auto scores = blob.need<double>(kScores, scalars_.token_count);
        text_scores.assign(scores.begin(), scores.end());
        list_joints();
        return;
    }
    can_cut_wide_ =
        std::any_of(junctions.words, junctions.words + (1U << JunctionFilter::kWordBits),
                    [](std::uint32_t word) { return word != 0xFFFFFFFFU; });
}

//   memory   scores | cells | tokens | char_nodes
void VocabView::use_large_pages() const {
    if (kind() != ModelKind::Unigram || has_large_pages_.exchange(true)) {
        return;
    }
    const std::size_t size = stored_nodes_.size;
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    const std::size_t wanted = size * sizeof(double) + (2 * size + kBasicCodes) * 4;
    large_memory_ = PageBuffer(std::max(wanted, kLargePage), Pages::Large);
    auto* const scores = large_memory_.as<double>();
    auto* const cells = reinterpret_cast<std::uint32_t*>(scores + size);
    std::copy_n(stored_nodes_.scores, size, scores);
    std::copy_n(stored_nodes_.trie.cells, size, cells);
    std::copy_n(stored_nodes_.tokens, size, cells + size);
    std::copy_n(stored_nodes_.char_nodes, kBasicCodes, cells + 2 * size);
    large_nodes_ = {{cells}, stored_nodes_.size, cells + size, scores, cells + 2 * size};
    nodes_.store(&large_nodes_, std::memory_order_release);
}

// Once for all workers: it takes half a millisecond.
void VocabView::list_joints() {
    text_joints.assign(1024, 0);
    for (TokenId id = 0; id < token_count(); ++id) {
        const Bytes piece = token_bytes(id);
        for (std::size_t i = 1; i < piece.size(); ++i) {
            const unsigned pair = piece[i - 1] << 8U | piece[i];
            text_joints[pair >> 6] |= std::uint64_t{1} << (pair & 63);
        }
    }
}

}  // namespace tokenmill::vocab
