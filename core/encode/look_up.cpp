#include "encode/look_up.h"

#include <algorithm>

#include "base/characters.h"

namespace tokenmill::encode {

namespace {

using vocab::Trie;
using vocab::VocabView;

constexpr TokenId kNotReached = 0xFFFFFFFEU;

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

void WordLookUp::list_characters(Bytes word) {
    const Trie& trie = vocab_->trie;
    characters_.clear();
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t size = std::min(char_bytes(word[at]), word.size() - at);
        std::uint32_t node = Trie::kRoot;
        if (size == 1) {
            node = vocab_->char_nodes[word[at]];
        } else if (size == 2) {
            node = vocab_->char_nodes[(word[at] & 31U) << 6 | (word[at + 1] & 63U)];
        } else if (size == 3) {
            node = vocab_->char_nodes[(word[at] & 15U) << 12 | (word[at + 1] & 63U) << 6 |
                                      (word[at + 2] & 63U)];
        } else {
            for (std::size_t i = at; i < at + size && node != Trie::kNoNode; ++i) {
                node = trie.step(node, word[i]);
            }
        }
        characters_.push_back({static_cast<std::uint32_t>(at), node});
        at += size;
    }
    characters_.push_back({static_cast<std::uint32_t>(word.size()), Trie::kNoNode});
}

// The pieces with the greatest sum of scores, added from the left; the first of equals is kept.
// The trie is larger than the caches: what the next characters need is asked for in time.
void WordLookUp::best_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    constexpr std::size_t kNodesAhead = 6;
    constexpr std::size_t kChildrenAhead = 3;
    const Trie& trie = vocab_->trie;
    list_characters(word);
    steps_.assign(word.size() + 1, Step{0.0, 0, kNotReached});
    const std::size_t count = characters_.size() - 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (i + kNodesAhead < count && characters_[i + kNodesAhead].node != Trie::kNoNode) {
            __builtin_prefetch(&trie.nodes[characters_[i + kNodesAhead].node]);
        }
        if (i + kChildrenAhead < count) {
            const Character& ahead = characters_[i + kChildrenAhead];
            const std::uint32_t end = characters_[i + kChildrenAhead + 1].begin;
            if (ahead.node != Trie::kNoNode && end < word.size()) {
                __builtin_prefetch(&trie.nodes[trie.nodes[ahead.node].base + word[end]]);
            }
        }
        offer_pieces(word, i);
    }
    collect_pieces(word, ids);
}

// All pieces that begin with character `number` offer a way to their ends.
void WordLookUp::offer_pieces(Bytes word, std::size_t number) {
    const Trie& trie = vocab_->trie;
    const std::uint32_t begin = characters_[number].begin;
    const std::uint32_t first_end = characters_[number + 1].begin;
    const double here = steps_[begin].score;
    const auto offer = [&](std::size_t end, double score, TokenId id) {
        Step& step = steps_[end];
        if (step.id == kNotReached || score > step.score) {
            step = {score, begin, id};
        }
    };
    std::uint32_t node = characters_[number].node;
    const bool has_character = node != Trie::kNoNode && trie.nodes[node].token != 0;
    for (std::size_t end = first_end; node != Trie::kNoNode;) {
        if (trie.nodes[node].token != 0) {
            const TokenId id = trie.nodes[node].token - 1;
            offer(end, vocab_->scores[id] + here, id);
        }
        if (end == word.size()) {
            break;
        }
        node = trie.step(node, word[end++]);
    }
    if (!has_character) {
        offer(first_end, vocab_->scalars().unknown_score + here, vocab_->unk_id());
    }
}

// Walks the best way back; neighbouring unknowns are one, and may even be a token together.
void WordLookUp::collect_pieces(Bytes word, std::vector<std::uint32_t>& ids) {
    pieces_.clear();
    for (std::size_t end = word.size(); end > 0; end = steps_[end].begin) {
        const Step& step = steps_[end];
        const bool is_unknown = step.id == vocab_->unk_id();
        if (is_unknown && !pieces_.empty() && pieces_.back().id == step.id) {
            pieces_.back().begin = step.begin;
        } else {
            pieces_.push_back({step.begin, static_cast<std::uint32_t>(end), step.id});
        }
    }
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
        const Part part{piece->begin, piece->end};
        if (piece->id == vocab_->unk_id()) {
            append_unknown(word.subspan(part.begin, part.end - part.begin), part, ids);
        } else {
            append(piece->id, part, ids);
        }
    }
}

void WordLookUp::append_unknown(Bytes text, Part part, std::vector<std::uint32_t>& ids) {
    const TokenId id = vocab_->find(text);
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
