// vocab: a token -> how merging builds it from its own bytes.
#include "vocab/derive.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/utf8.h"

namespace tokenmill::vocab {

namespace {

constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;

std::size_t table_size_for(std::size_t entries) {
    std::size_t size = 1024;
    while (size < 2 * entries) {
        size *= 2;
    }
    return size;
}

[[noreturn]] void bad(const std::string& problem) {
    throw Error(ErrorCode::BadSpec, "vocabulary: " + problem);
}

}  // namespace

// Checks what everything else relies on: array sizes, and ids that fit 20 bits.
Deriver::Deriver(const VocabInput& input)
    : input_(input), count_(input.token_offsets.empty() ? 0 : input.token_offsets.size() - 1) {
    if (count_ == 0 || count_ > kIdMask) {
        bad("needs 1 to " + std::to_string(kIdMask) + " tokens, got " + std::to_string(count_));
    }
    if (input.matchable.size() != count_ || input.decode_offsets.size() != count_ + 1 ||
        input.token_offsets.back() > input.token_bytes.size() ||
        input.decode_offsets.back() > input.decode_bytes.size()) {
        bad("arrays of different lengths");
    }
    build_index();
    byte_ids_.resize(256);
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto value = static_cast<std::uint8_t>(byte);
        byte_ids_[byte] = find(Bytes(&value, 1));  // kNoToken: the byte is dropped from words
    }
    build_merges();
}

Bytes Deriver::bytes_of(TokenId id) const {
    return between(input_.token_bytes, input_.token_offsets[id], input_.token_offsets[id + 1]);
}

// Token bytes -> id + 1, open addressing; it goes into the compiled model as it is.
void Deriver::build_index() {
    index_.assign(table_size_for(count_), 0);
    const std::size_t mask = index_.size() - 1;
    for (TokenId id = 0; id < count_; ++id) {
        const Bytes token = bytes_of(id);
        if (input_.matchable[id] == 0 || token.empty() || find(token) != VocabView::kNoToken) {
            continue;  // of two equal tokens the first one is the one that merging finds
        }
        std::size_t at = hash_bytes(token) >> 20 & mask;
        while (index_[at] != 0) {
            at = (at + 1) & mask;
        }
        index_[at] = id + 1;
    }
}

TokenId Deriver::find(Bytes token) const {
    const std::size_t mask = index_.size() - 1;
    for (std::size_t at = hash_bytes(token) >> 20 & mask; index_[at] != 0; at = (at + 1) & mask) {
        const Bytes other = bytes_of(index_[at] - 1);
        if (other.size() == token.size() &&
            std::memcmp(other.data(), token.data(), token.size()) == 0) {
            return index_[at] - 1;
        }
    }
    return VocabView::kNoToken;
}

// (left, right) -> rank and result. The result is the token of the joined bytes; a merge without
// one is an error of the definition.
void Deriver::build_merges() {
    const std::size_t n = input_.merges.size() / 2;
    merge_keys_.assign(table_size_for(n), 0);
    merge_values_.resize(merge_keys_.size());
    const std::size_t mask = merge_keys_.size() - 1;
    std::vector<std::uint8_t> joined;
    for (std::size_t rank = 0; rank < n; ++rank) {
        const TokenId left = input_.merges[2 * rank];
        const TokenId right = input_.merges[2 * rank + 1];
        if (left >= count_ || right >= count_) {
            bad("merge " + std::to_string(rank) + " names an id that no token has");
        }
        const Bytes a = bytes_of(left);
        const Bytes b = bytes_of(right);
        joined.assign(a.begin(), a.end());
        joined.insert(joined.end(), b.begin(), b.end());
        const TokenId id = find(joined);
        if (id == VocabView::kNoToken) {
            bad("merge " + std::to_string(rank) + " makes no token of the vocabulary");
        }
        const std::uint64_t key = (std::uint64_t{left} << 32 | right) + 1;
        std::size_t at = hash_word(key) >> 32 & mask;
        while (merge_keys_[at] != 0 && merge_keys_[at] != key) {
            at = (at + 1) & mask;
        }
        merge_keys_[at] = key;  // of two equal merges the last one counts
        merge_values_[at] = {static_cast<std::uint32_t>(rank), id};
    }
}

// Rank files have no merges: there, any two tokens merge if together they are a token.
Deriver::Merge Deriver::look_up(TokenId left, TokenId right) const {
    if (!input_.ranks.empty()) {  // rank of the concatenation
        const Bytes a = bytes_of(left);
        const Bytes b = bytes_of(right);
        scratch_.assign(a.begin(), a.end());
        scratch_.insert(scratch_.end(), b.begin(), b.end());
        const TokenId id = find(scratch_);
        return id == VocabView::kNoToken ? Merge{kNoRank, id} : Merge{input_.ranks[id], id};
    }
    const std::uint64_t key = (std::uint64_t{left} << 32 | right) + 1;
    const std::size_t mask = merge_keys_.size() - 1;
    for (std::size_t at = hash_word(key) >> 32 & mask; merge_keys_[at] != 0; at = (at + 1) & mask) {
        if (merge_keys_[at] == key) {
            return merge_values_[at];
        }
    }
    return {kNoRank, VocabView::kNoToken};
}

// Bytes of the first symbol: a byte or a character, and kWordEnd if that follows.
std::size_t Deriver::symbol_size(Bytes rest) const {
    const std::size_t size = input_.kind == ModelKind::Bytes ? 1 : char_size(rest[0]);
    const bool ends = input_.has_ends && size + 1 == rest.size() && rest[size] == kWordEnd;
    return size + static_cast<std::size_t>(ends);
}

// The symbols that merging starts from.
void Deriver::start(Bytes word, std::vector<TokenId>& ids) const {
    ids.clear();
    for (std::size_t at = 0; at < word.size();) {
        const Bytes rest = word.subspan(at);
        const std::size_t size = symbol_size(rest);
        const TokenId id = size > rest.size() ? VocabView::kNoToken
                           : size == 1        ? byte_ids_[rest[0]]
                                              : find(rest.first(size));
        at += size;
        if (id != VocabView::kNoToken) {
            ids.push_back(id);
        } else if (input_.kind != ModelKind::Bytes) {
            ids.clear();
            return;
        }
    }
}

// The plainest form of ranked merging: quadratic, but tokens are short, and this one is easy to
// trust.
void Deriver::merge(Bytes word, std::vector<TokenId>& ids, Derivation* last) const {
    start(word, ids);
    std::vector<Merge> pairs(ids.size());
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        pairs[i] = look_up(ids[i], ids[i + 1]);
    }
    while (ids.size() > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
            if (pairs[i].rank < pairs[best].rank) {
                best = i;
            }
        }
        if (pairs[best].rank == kNoRank) {
            return;
        }
        if (last != nullptr) {
            *last = {pairs[best].rank, ids[best], ids[best + 1], pairs[best].id};
        }
        const auto at = static_cast<std::ptrdiff_t>(best);
        ids[best] = pairs[best].id;
        ids.erase(ids.begin() + at + 1);
        pairs.erase(pairs.begin() + at + 1);
        if (best > 0) {
            pairs[best - 1] = look_up(ids[best - 1], ids[best]);
        }
        if (best + 1 < ids.size()) {
            pairs[best] = look_up(ids[best], ids[best + 1]);
        }
    }
}

}  // namespace tokenmill::vocab
