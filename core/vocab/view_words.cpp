// vocab: the trie of a compiled model -> a view of it, for kinds that look words up.
#include <algorithm>

#include "base/bytes.h"
#include "base/utf8.h"
#include "vocab/view_check.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

// A step may read any base + byte, so every base must leave room for 256 places; and a cell that
// promises a token must have one.
bool leads_out(std::span<const std::uint32_t> cells, std::span<const std::uint32_t> tokens,
               std::uint32_t token_count) {
    LimitCheck<std::uint32_t> bases(static_cast<std::uint32_t>(cells.size()) - 256);
    LimitCheck<std::uint32_t> ids(token_count);
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        bases.add(cells[i] >> 9);
        ids.add(tokens[i]);
        missing |= (tokens[i] - 1) & cells[i] << 23;  // bit 31: no token, and kToken
    }
    return bases.failed() || ids.failed() || missing >> 31 != 0;
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
    nodes_.trie = {cells.data()};
    nodes_.size = static_cast<std::uint32_t>(cells.size());
    nodes_.tokens = tokens.data();
    if (kind() == ModelKind::Unigram) {
        view_scores(blob);
    } else if (const auto values = blob.get<std::uint64_t>(kCharValues); !values.empty()) {
        view_char_values(blob.need<std::uint64_t>(kCharValues, kBasicCodes));
    }
}

void VocabView::view_scores(const BlobReader& blob) {
    nodes_.scores = blob.need<double>(kNodeScores, nodes_.size).data();
    const auto characters = blob.need<std::uint32_t>(kCharNodes, kBasicCodes);
    nodes_.char_nodes = characters.data();
    if (has_some_above(characters, nodes_.size)) {
        corrupt("a character has a node that does not exist");
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

// Once for all workers: it takes half a millisecond.
void VocabView::list_joints() {
    text_joints.assign(1024, 0);
    for (TokenId id = 0; id < token_count(); ++id) {
        const Bytes piece = token_bytes(id);
        for (std::size_t i = 1; i < piece.size(); ++i) {
            const unsigned pair = byte_pair(piece[i - 1], piece[i]);
            text_joints[pair >> 6] |= std::uint64_t{1} << (pair & 63);
        }
    }
}

}  // namespace tokenmill::vocab
