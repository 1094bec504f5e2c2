#include "encode/look_up.h"

#include <algorithm>
#include <limits>

#include "base/characters.h"

namespace tokenmill::encode {

namespace {

using vocab::SmallTrie;
using vocab::Trie;
using vocab::VocabView;

constexpr std::uint32_t kUnknown = 0x7FFFFFFFU;  // a character that is no token
constexpr std::uint32_t kClose = 0x80000000U;

Part whole(Bytes word) noexcept {
    return {0, static_cast<std::uint32_t>(word.size())};
}

bool is_blank(Bytes word) noexcept {
    return std::all_of(word.begin(), word.end(),
                       [](std::uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); });
}

}  // namespace

void WordLookUp::look_up(Bytes word, std::vector<std::uint32_t>& ids) {
    ids.clear();
    parts_.clear();
    is_sure_ = true;
    if (vocab_->kind() == vocab::Kind::Unigram) {
        best_pieces(word, ids);
    } else if (vocab_->scalars().drop_white != 0 && is_blank(word)) {
        return;
    } else if (vocab_->kind() == vocab::Kind::WordPiece) {
        longest_pieces(word, ids);
    } else {
        const TokenId id = vocab_->find(word);
        append(id == VocabView::kNoToken ? vocab_->unk_id() : id, whole(word), ids);
    }
}

void WordLookUp::append(TokenId id, Part part, std::vector<std::uint32_t>& ids) {
    ids.push_back(id);
    parts_.push_back(part);
}

// The longest token, then the longest that continues it, and so on; all or nothing.
void WordLookUp::longest_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    const Trie& trie = vocab_->trie;
    bool is_covered = count_characters(word) <= vocab_->scalars().max_characters;
    for (std::size_t at = 0; is_covered && at < word.size();) {
        std::uint32_t node = at == 0 ? Trie::kRoot : trie.step(Trie::kRoot, Trie::kContinues);
        std::uint32_t found = 0;
        std::size_t end = at;
        for (std::size_t i = at; node != Trie::kNoNode && i < word.size(); ++i) {
            node = trie.step(node, word[i]);
            if (node != Trie::kNoNode && trie.nodes[node].token != 0) {
                found = trie.nodes[node].token;
                end = i + 1;
            }
        }
        is_covered = found != 0;
        append(found - 1, {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)}, ids);
        at = end;
    }
    if (!is_covered) {
        ids.clear();
        parts_.clear();
        append(vocab_->unk_id(), whole(word), ids);
    }
}

// Behind the character at `at`, or kNoNode.
std::uint32_t WordLookUp::first_node(Bytes word, std::size_t at, std::size_t size) const {
    const std::uint8_t* const c = word.data() + at;
    if (size == 1) {
        return vocab_->char_nodes[c[0]];
    }
    if (size == 3) {
        return vocab_->char_nodes[(c[0] & 15U) << 12 | (c[1] & 63U) << 6 | (c[2] & 63U)];
    }
    if (size == 2) {
        return vocab_->char_nodes[(c[0] & 31U) << 6 | (c[1] & 63U)];
    }
    std::uint32_t node = Trie::kRoot;
    for (std::size_t i = 0; i < size && node != Trie::kNoNode; ++i) {
        node = vocab_->trie.step(node, c[i]);
    }
    return node;
}

inline void WordLookUp::offer(std::size_t begin, std::size_t end, double score,
                              std::uint32_t node) {
    Step& step = steps_[end];
    const double more = score - step.score;
    if (!(more <= doubt_)) {
        step = {score, static_cast<std::uint32_t>(begin), node};
    } else if (more > -doubt_) {
        if (more > 0) {
            step = {score, static_cast<std::uint32_t>(begin), node};
        }
        step.node |= kClose;
    }
}

// The pieces with the greatest sum of scores, added from the left; the first of equals is kept.
void WordLookUp::best_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    const std::uint32_t* const cells = vocab_->small_trie.cells;
    const double* const scores = vocab_->node_scores;
    const double unknown_score = vocab_->scalars().unknown_score;
    doubt_ = vocab_->doubt * static_cast<double>(word.size());
    steps_.assign(word.size() + 1, Step{std::numeric_limits<double>::quiet_NaN(), 0, kUnknown});
    steps_[0].score = 0;
    for (std::size_t at = 0; at < word.size();) {
        const double here = steps_[at].score;
        const std::size_t size = std::min(char_bytes(word[at]), word.size() - at);
        std::size_t end = at + size;
        std::uint32_t node = first_node(word, at, size);
        std::uint32_t cell = node == Trie::kNoNode ? 0 : cells[node];
        if ((cell & SmallTrie::kToken) == 0) {
            offer(at, end, unknown_score + here, kUnknown);
        }
        while (node != Trie::kNoNode) {
            if ((cell & SmallTrie::kToken) != 0) {
                offer(at, end, scores[node] + here, node);
            }
            if (end == word.size()) {
                break;
            }
            const std::uint8_t byte = word[end++];
            node = SmallTrie::child(cell, byte);
            cell = cells[node];
            if (!SmallTrie::leads_to(cell, byte)) {
                break;
            }
        }
        at += size;
    }
    collect_pieces(word, ids);
}

void WordLookUp::prefetch(Bytes word) const noexcept {
    if (vocab_->kind() != vocab::Kind::Unigram) {
        return;
    }
    const std::uint32_t* const cells = vocab_->small_trie.cells;
    const std::size_t size = std::min<std::size_t>(word.size(), 24);
    for (std::size_t i = 0; i + 1 < size; ++i) {
        const std::uint32_t node = word[i] < 0x80 ? vocab_->char_nodes[word[i]] : Trie::kNoNode;
        if (node != Trie::kNoNode) {
            __builtin_prefetch(&cells[SmallTrie::child(cells[node], word[i + 1])]);
        }
    }
}

// Walks the best way back; neighbouring unknowns are one, and may even be a token together.
void WordLookUp::collect_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    const vocab::TrieNode* const nodes = vocab_->trie.nodes;
    const TokenId unknown = vocab_->unk_id();
    pieces_.clear();
    std::uint32_t close = 0;
    for (std::size_t end = word.size(); end > 0; end = steps_[end].begin) {
        const Step& step = steps_[end];
        close |= step.node;
        const std::uint32_t node = step.node & ~kClose;
        const TokenId id = node == kUnknown ? unknown : nodes[node].token - 1;
        if (id == unknown && !pieces_.empty() && pieces_.back().id == id) {
            pieces_.back().begin = step.begin;
            pieces_.back().node = node == kUnknown ? pieces_.back().node : node;
        } else {
            pieces_.push_back({step.begin, static_cast<std::uint32_t>(end), node, id});
        }
    }
    is_sure_ = (close & kClose) == 0;
    // Characters that are all unknown would be a token already: it has the greater score.
    const bool can_win = vocab_->scalars().unknown_score >= 0;
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        const Part part{piece->begin, piece->end};
        if (piece->id == unknown) {
            append_unknown(word.subspan(part.begin, part.end - part.begin), part,
                           can_win || piece->node != kUnknown, ids);
        } else {
            append(piece->id, part, ids);
        }
    }
}

void WordLookUp::append_unknown(Bytes text, Part part, bool may_be_token,
                                std::vector<std::uint32_t>& ids) {
    const TokenId id = may_be_token ? vocab_->find(text) : VocabView::kNoToken;
    const std::uint32_t first_byte = vocab_->scalars().first_byte_id;
    if (id != VocabView::kNoToken) {
        append(id, part, ids);
    } else if (first_byte != 0) {
        for (const std::uint8_t byte : text) {
            append(vocab_->external[first_byte + byte], part, ids);
        }
    } else {
        append(vocab_->unk_id(), part, ids);
    }
}

}  // namespace tokenmill::encode
