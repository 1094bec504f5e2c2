// encode: whole texts -> ids by float sums, word by word where that is exact.
#include "encode/sentence.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/platform.h"
#include "base/utf8.h"

namespace tokenmill::encode {

namespace {

using vocab::Trie;

constexpr TokenId kNotReached = 0xFFFFFFFEU;
// Where the best sum so far is larger, it is taken off all sums that are known by then.
constexpr float kLargestSum = 100000.0F;
constexpr double kNoWay = -std::numeric_limits<double>::infinity();

// Unique together with the size.
void make_padded_key(Bytes word, std::uint64_t key[4]) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t rest = word.size() > 8 * i ? word.size() - 8 * i : 0;
        key[i] = rest == 0 ? 0 : load_short(word.data() + 8 * i, std::min<std::size_t>(rest, 8));
    }
}

bool is_same_key(const std::uint64_t a[4], const std::uint64_t b[4]) noexcept {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

}  // namespace

SentenceLookUp::SentenceLookUp(const vocab::VocabView& vocab, WordTables& tables)
    : vocab_(&vocab), tables_(&tables) {
    constexpr float kUnknownPenalty = 10.0F;
    const std::vector<float>& scores = vocab.text_scores;
    if (scores.empty()) {
        return;
    }
    unknown_score_ = *std::min_element(scores.begin(), scores.end()) - kUnknownPenalty;
    largest_score_ = std::abs(unknown_score_);
    for (const float score : scores) {
        largest_score_ = std::max(largest_score_, std::abs(score));
    }
}

// The first place after `begin` that no piece reaches over.
std::size_t SentenceLookUp::word_end(Bytes text, std::size_t begin) const noexcept {
    for (std::size_t at = begin + 1; at < text.size(); ++at) {
        const unsigned pair = byte_pair(text[at - 1], text[at]);
        const bool is_inside = is_continuation(text[at]);
        if (!is_inside && (vocab_->text_joints[pair >> 6] >> (pair & 63) & 1) == 0) {
            return at;
        }
    }
    return text.size();
}

// The sum runs through the whole text, as in the reference, because it decides how scores are
// rounded. It is taken off when it gets too large, as there.
void SentenceLookUp::look_up(Bytes text, std::vector<std::uint32_t>& ids) {
    ids.clear();
    float sum = 0.0F;
    StopPoints points(stop_);
    for (std::size_t at = 0; at < text.size();) {
        points.pass(at);
        const std::size_t count = look_ahead(text, at);
        for (std::size_t i = 0; i < count; ++i) {
            sum = std::abs(sum) > kLargestSum ? 0.0F : sum;
            sum = append_word(ahead_[i], sum, ids);
        }
    }
}

void SentenceLookUp::count(PendingCounts& counters) noexcept {
    counters.add(Tally::Hit32, found_);
    counters.add(Tally::Merged, asked_ - found_);
    asked_ = found_ = 0;
}

// Appends the ids of the next word; returns the sum at its end.
float SentenceLookUp::append_word(const WordAhead& ahead, float sum,
                                  std::vector<std::uint32_t>& ids) {
    ++asked_;
    if (ahead.set != nullptr) {
        const std::uint64_t before = found_;
        const KnownWord word = word_of(ahead);
        if (std::abs(sum) < word.limit) {
            return append_known(word, sum, ids);
        }
        found_ = before;  // the table has the word, but it does not help here
    }
    sum = find_best(ahead.text, sum);
    append_found(ahead.text, ids);
    return sum;
}

// Cuts the next words off; returns how many.
std::size_t SentenceLookUp::look_ahead(Bytes text, std::size_t& at) {
    std::size_t count = 0;
    while (count < kAhead && at < text.size()) {
        WordAhead& ahead = ahead_[count++];
        const std::size_t end = word_end(text, at);
        ahead.text = text.subspan(at, end - at);
        ahead.set = nullptr;
        if (ahead.text.size() <= kLongest) {
            const auto size = static_cast<std::uint32_t>(ahead.text.size());
            make_padded_key(ahead.text, ahead.key);
            const std::uint32_t set = tables_->set_to_read(hash_key32(ahead.key, size));
            ahead.set = tables_->lines32 + std::size_t{2} * set;
            prefetch_line(ahead.set);
            prefetch_line(ahead.set + 1);
        }
        at = end;
    }
    return count;
}

// The same walk without the tables, which do not keep parts.
void SentenceLookUp::find_parts(Bytes text, std::vector<WordPart>& parts) {
    parts.clear();
    float sum = 0.0F;
    bool was_unknown = false;
    const bool has_bytes = vocab_->scalars().first_byte_id != 0;
    StopPoints points(stop_);
    for (std::size_t at = 0; at < text.size();) {
        points.pass(at);
        const std::size_t end = word_end(text, at);
        const auto shift = static_cast<std::uint32_t>(at);
        sum = find_best(text.subspan(at, end - at), sum);
        collect(text.subspan(at, end - at), [&](WordPart part, TokenId id) {
            const bool is_unknown = id == vocab_->unk_id();
            for (std::uint32_t i = part.begin; is_unknown && has_bytes && i < part.end; ++i) {
                parts.push_back({shift + i, shift + i + 1});
            }
            if (is_unknown && !has_bytes && was_unknown) {
                parts.back().end = shift + part.end;
            } else if (!is_unknown || !has_bytes) {
                parts.push_back({shift + part.begin, shift + part.end});
            }
            was_unknown = is_unknown;
        });
        at = end;
    }
}

// A word in the tables: a limit, followed by the ids.
SentenceLookUp::KnownWord SentenceLookUp::word_of(const WordAhead& ahead) {
    const Bytes text = ahead.text;
    const auto size = static_cast<std::uint32_t>(text.size());
    for (unsigned way = 0; way < 2; ++way) {
        const Line32& line = ahead.set[way];
        if (line.header >> 8 == size && is_same_key(line.key, ahead.key)) {
            ++found_;
            return {std::bit_cast<float>(line.ids[0]), (line.header & 255) - 1, line.ids + 1};
        }
    }
    const bool is_found = find_exactly(text);
    const float limit = is_found ? find_limit(text) : 0.0F;
    const auto count = static_cast<std::uint32_t>(is_found ? ends_.size() : 0);
    record_[0] = std::bit_cast<std::uint32_t>(limit);
    for (std::uint32_t i = 0; i < count; ++i) {
        record_[1 + i] = exact_[ends_[count - 1 - i]].id;
    }
    tables_->put32(ahead.key, size, record_, 1 + count);
    return {limit, count, record_ + 1};
}

// Rounding moves the sum of a way of n pieces by no more than n halves of the last bit of the
// largest sum on it. If the second best way is worse by more than rounding can move the two, the
// best one wins after any text. No sum within the word may be too large.
float SentenceLookUp::find_limit(Bytes text) {
    constexpr double kHalfBit = 1.01 / (1 << 24);
    constexpr double kInexact = 1e-6;  // sums of a few floats in doubles are far better than this
    const ExactStep& last = exact_[text.size()];
    const auto size = static_cast<double>(text.size());
    const double gap = last.best - last.second - kInexact;
    const double within = size * static_cast<double>(largest_score_);
    const double limit = std::min(gap / (2 * size * kHalfBit), double{kLargestSum} - 1) - within;
    return limit > 0 ? static_cast<float>(limit * 0.999) : 0.0F;
}

template <typename Visit>
void SentenceLookUp::visit_characters(Bytes word, Visit visit) const {
    for (std::uint32_t at = 0; at < word.size();) {
        const auto size = static_cast<std::uint32_t>(
            std::min<std::size_t>(char_size(word[at]), word.size() - at));
        visit(at, at + size);
        at += size;
    }
}

// The node of a character in the trie.
std::uint32_t SentenceLookUp::character_node(Bytes character) const noexcept {
    const vocab::NodeTables& nodes = vocab_->nodes();
    const std::uint8_t* const at = character.data();
    switch (character.size()) {
        case 1:
            return nodes.char_nodes[at[0]];
        case 2:
            return nodes.char_nodes[(at[0] & 31U) << 6 | (at[1] & 63U)];
        case 3:
            return nodes.char_nodes[decode3(at)];
        default:
            break;
    }
    std::uint32_t node = Trie::kRoot;
    for (const std::uint8_t byte : character) {
        node = node == Trie::kNoNode ? node : nodes.trie.step(node, byte);
    }
    return node;
}

// Calls `offer` with end, score and id of every piece that starts at `begin`.
template <typename Offer>
void SentenceLookUp::visit_pieces(Bytes word, std::uint32_t begin, std::uint32_t first_end,
                                  Offer offer) const {
    const vocab::NodeTables& nodes = vocab_->nodes();
    std::uint32_t node = character_node(word.subspan(begin, first_end - begin));
    const bool has_character = node != Trie::kNoNode && nodes.tokens[node] != 0;
    for (std::size_t end = first_end; node != Trie::kNoNode;) {
        if (nodes.tokens[node] != 0) {
            const TokenId id = nodes.tokens[node] - 1;
            offer(end, vocab_->text_scores[id], id);
        }
        if (end == word.size()) {
            break;
        }
        node = nodes.trie.step(node, word[end++]);
    }
    if (!has_character) {
        offer(first_end, unknown_score_, vocab_->unk_id());
    }
}

// Finds the best way through a word that follows a sum; returns the new sum. Of equal ways to one
// place, the first one offered stays: its last piece is the longest.
float SentenceLookUp::find_best(Bytes word, float sum) {
    assign_slowly(steps_, word.size() + 1, SentenceStep{sum, 0, kNotReached}, stop_);
    std::size_t reach = 0;  // the furthest end of a piece so far
    StopPoints points(stop_);
    visit_characters(word, [&](std::uint32_t begin, std::uint32_t first_end) {
        points.pass(begin);
        const float too_large = steps_[begin].score;
        for (std::size_t at = begin; std::abs(too_large) > kLargestSum && at <= reach; ++at) {
            steps_[at].score -= too_large;
        }
        const float here = steps_[begin].score;
        visit_pieces(word, begin, first_end, [&](std::size_t end, float score, TokenId id) {
            SentenceStep& step = steps_[end];
            reach = std::max(reach, end);
            const float total = here + score;
            if (step.id == kNotReached || total > step.score) {
                step = {total, begin, id};
            }
        });
    });
    return steps_.back().score;
}

// The best way by sums that are not rounded; false if it is not made of pieces alone, and few.
bool SentenceLookUp::find_exactly(Bytes text) {
    exact_.assign(text.size() + 1, ExactStep{kNoWay, kNoWay, 0, kNotReached});
    exact_[0].best = 0.0;
    visit_characters(text, [&](std::uint32_t begin, std::uint32_t first_end) {
        const ExactStep here = exact_[begin];
        visit_pieces(text, begin, first_end, [&](std::size_t end, float score, TokenId id) {
            ExactStep& step = exact_[end];
            const double total = here.best + static_cast<double>(score);
            double other = std::max(step.second, here.second + static_cast<double>(score));
            if (total > step.best) {
                other = std::max(other, step.best);
                step = {total, other, begin, id};
            } else {
                step.second = std::max(other, total);
            }
        });
    });
    ends_.clear();
    for (auto end = static_cast<std::uint32_t>(text.size()); end > 0; end = exact_[end].begin) {
        if (exact_[end].id == vocab_->unk_id() || exact_[end].id == kNotReached) {
            return false;
        }
        ends_.push_back(end);
    }
    return ends_.size() <= kMostIds;
}

// Calls `put` with the pieces of the best way, from the left.
template <typename Put>
void SentenceLookUp::collect(Bytes word, Put put) {
    ends_.clear();
    StopPoints back(stop_);
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0; end = steps_[end].begin) {
        back.pass(word.size() - end);
        ends_.push_back(end);
    }
    StopPoints points(stop_);
    for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
        points.pass(*end);
        put(WordPart{steps_[*end].begin, *end}, steps_[*end].id);
    }
}

float SentenceLookUp::append_known(const KnownWord& word, float sum,
                                   std::vector<std::uint32_t>& ids) const {
    for (std::uint32_t i = 0; i < word.count; ++i) {
        sum += vocab_->text_scores[word.ids[i]];
        ids.push_back(word.ids[i]);
    }
    return sum;
}

// Unknown neighbours are one, in different words too.
void SentenceLookUp::append_found(Bytes word, std::vector<std::uint32_t>& ids) {
    const std::uint32_t first_byte = vocab_->scalars().first_byte_id;
    const TokenId unknown = vocab_->unk_id();
    collect(word, [&](WordPart part, TokenId id) {
        if (id != unknown) {
            ids.push_back(id);
        } else if (first_byte == 0) {
            if (ids.empty() || ids.back() != unknown) {
                ids.push_back(unknown);
            }
        } else {
            for (const std::uint8_t byte : word.subspan(part.begin, part.end - part.begin)) {
                ids.push_back(vocab_->external[first_byte + byte]);
            }
        }
    });
}

}  // namespace tokenmill::encode
