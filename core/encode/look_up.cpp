// encode: words -> ids where words are looked up.
#include "encode/look_up.h"

#include <algorithm>
#include <limits>

#include "base/platform.h"
#include "base/utf8.h"

namespace tokenmill::encode {

namespace {

using vocab::SmallTrie;
using vocab::Trie;
using vocab::VocabView;

constexpr std::uint32_t kUnknown = Trie::kRoot;  // a character that is not a token
constexpr std::uint32_t kClose = 0x80000000U;

WordPart whole(Bytes word) noexcept {
    return {0, static_cast<std::uint32_t>(word.size())};
}

bool is_blank(Bytes word) noexcept {
    return std::all_of(word.begin(), word.end(),
                       [](std::uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); });
}

}  // namespace

WordLookUp::WordLookUp(const VocabView& vocab)
    : vocab_(&vocab),
      fuses_unknown_(vocab.kind() == vocab::ModelKind::Unigram &&
                     vocab.scalars().first_byte_id == 0 && vocab.unk_id() < vocab.token_count()) {
    if (vocab.kind() == vocab::ModelKind::WordPiece) {
        const std::uint32_t node = vocab.nodes().trie.step(Trie::kRoot, Trie::kContinues);
        continues_ = node == Trie::kNoNode ? 0 : vocab.nodes().trie.cells[node];
    }
    if (fuses_unknown_) {
        const TokenId unknown = vocab.unk_id();
        unknown_value_ = vocab::pack_ids(&unknown, 1);
    }
}

// One way for each kind of model.
void WordLookUp::look_up(Bytes word, std::vector<std::uint32_t>& ids) {
    ids.clear();
    parts_.clear();
    is_sure_ = true;
    if (vocab_->kind() == vocab::ModelKind::Unigram) {
        doubt_ = vocab_->doubt * static_cast<double>(word.size());
        pieces_.clear();
        word.size() <= ShortWay::kLongest ? find_short(word) : find_long(word);
        append_pieces(word, ids);
    } else if (vocab_->scalars().drop_white != 0 && is_blank(word)) {
        return;
    } else if (vocab_->kind() == vocab::ModelKind::WordPiece) {
        longest_pieces(word, ids);
    } else {
        const TokenId id = vocab_->find(word);
        append(id == VocabView::kNoToken ? vocab_->unk_id() : id, whole(word), ids);
    }
}

void WordLookUp::append(TokenId id, WordPart part, std::vector<std::uint32_t>& ids) {
    ids.push_back(id);
    parts_.push_back(part);
}

// The longest token, then the longest that continues it, and so on; all or nothing.
void WordLookUp::longest_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    const std::uint32_t* const cells = vocab_->nodes().trie.cells;
    bool is_covered = count_chars(word.data(), word.size()) <= vocab_->scalars().max_characters;
    StopPoints points(stop_);
    for (std::size_t at = 0; is_covered && at < word.size();) {
        points.pass(at);
        std::uint32_t cell = at == 0 ? cells[Trie::kRoot] : continues_;
        std::uint32_t found = Trie::kRoot;
        std::size_t end = at;
        for (std::size_t i = at; i < word.size(); ++i) {
            const std::uint32_t node = SmallTrie::child(cell, word[i]);
            cell = cells[node];
            if (!SmallTrie::leads_to(cell, word[i])) {
                break;
            }
            if ((cell & SmallTrie::kToken) != 0) {
                found = node;
                end = i + 1;
            }
        }
        is_covered = found != Trie::kRoot;
        append(vocab_->nodes().tokens[found] - 1,
               {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)}, ids);
        at = end;
    }
    if (!is_covered) {
        ids.clear();
        parts_.clear();
        append(vocab_->unk_id(), whole(word), ids);
    }
}

// Offers a way to `end`. A score that is not better by more than rounding could change marks the
// place as close, whichever way wins:
//
//   more = score - best so far    more > doubt       take it
//                                -doubt..doubt       take the better, and mark it kClose
//                                 more < -doubt      keep the old
inline void WordLookUp::offer(std::size_t begin, std::size_t end, double score,
                              std::uint32_t node) {
    WordStep& step = steps_[end];
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

void WordLookUp::find_short(Bytes word) {
    short_way_.find(*vocab_, word, doubt_);
    for (std::uint32_t i = 0; i < short_way_.count; ++i) {
        const ShortWay::Piece& piece = short_way_.pieces[i];
        add_piece(piece.begin, piece.end, piece.node);
    }
    is_sure_ = !short_way_.is_close;
}

// The pieces with the greatest sum of scores, added from the left; the first of equals is kept.
// Words may be of any length here.
void WordLookUp::find_long(Bytes word) {
    constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();
    assign_slowly(steps_, word.size() + 1, WordStep{kNoScore, 0, kUnknown}, stop_);
    steps_[0].score = 0;
    offer_pieces(word);
    std::uint32_t close = 0;
    StopPoints points(stop_);
    for (std::size_t end = word.size(); end > 0; end = steps_[end].begin) {
        points.pass(word.size() - end);
        const WordStep& step = steps_[end];
        close |= step.node;
        add_piece(step.begin, static_cast<std::uint32_t>(end), step.node & ~kClose);
    }
    is_sure_ = (close & kClose) == 0;
}

void WordLookUp::offer_pieces(Bytes word) {
    const vocab::NodeTables& nodes = vocab_->nodes();
    const std::uint32_t* const cells = nodes.trie.cells;
    const double* const scores = nodes.scores;
    const double unknown_score = vocab_->scalars().unknown_score;
    StopPoints points(stop_);
    for (std::size_t at = 0; at < word.size();) {
        points.pass(at);
        const double here = steps_[at].score;
        const std::size_t size = std::min<std::size_t>(char_size(word[at]), word.size() - at);
        std::size_t end = at + size;
        std::uint32_t node = first_node(nodes, word.subspan(at, size));
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
}

// Only characters of one byte, whose nodes are close together: the second step is what misses.
void WordLookUp::prefetch(Bytes word) const noexcept {
    if (vocab_->kind() != vocab::ModelKind::Unigram) {
        return;
    }
    const vocab::NodeTables& nodes = vocab_->nodes();
    const std::uint32_t* const cells = nodes.trie.cells;
    const std::size_t size = std::min<std::size_t>(word.size(), 24);
    for (std::size_t i = 0; i + 1 < size; ++i) {
        const std::uint32_t node = word[i] < 0x80 ? nodes.char_nodes[word[i]] : Trie::kNoNode;
        if (node != Trie::kNoNode) {
            prefetch_line(&cells[SmallTrie::child(cells[node], word[i + 1])]);
        }
    }
}

// Adds the piece before all others: the best way is walked back. Neighbouring unknowns are one.
void WordLookUp::add_piece(std::uint32_t begin, std::uint32_t end, std::uint32_t node) {
    const TokenId unknown = vocab_->unk_id();
    const TokenId id = node == kUnknown ? unknown : vocab_->nodes().tokens[node] - 1;
    if (id == unknown && !pieces_.empty() && pieces_.back().id == id) {
        pieces_.back().begin = begin;
        pieces_.back().node = node == kUnknown ? pieces_.back().node : node;
    } else {
        pieces_.push_back({begin, end, node, id});
    }
}

void WordLookUp::append_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    // Characters that are all unknown would be a token already: it has the greater score.
    const bool can_win = vocab_->scalars().unknown_score >= 0;
    StopPoints points(stop_);
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        points.pass(piece->begin);
        const WordPart part{piece->begin, piece->end};
        if (piece->id == vocab_->unk_id()) {
            append_unknown(word.subspan(part.begin, part.end - part.begin), part,
                           can_win || piece->node != kUnknown, ids);
        } else {
            append(piece->id, part, ids);
        }
    }
}

// Unknown text as one token if the vocabulary has it, as tokens of its bytes, or as unknown.
void WordLookUp::append_unknown(Bytes text, WordPart part, bool may_be_token,
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
