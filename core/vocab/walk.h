// walk: tokens -> what compiling a vocabulary learns from them, and one way to compile for each
// kind. Internal to vocab.
#pragma once

#include <vector>

#include "base/blob.h"
#include "base/bytes.h"
#include "vocab/adjacency_build.h"
#include "vocab/derive.h"
#include "vocab/junction_build.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

constexpr std::uint8_t kMatchable = 1;
constexpr std::uint8_t kReachable = 2;

// Everything that is learnt while walking the tokens once.
struct Walk {
    std::vector<std::uint8_t> flags;
    std::vector<Derivation> kept;  // one merge a reachable token
    std::vector<TokenId> symbols;  // tokens that merging starts from
    JunctionBuilder junctions;
    AdjacencyBuilder adjacency;
    std::vector<Seed8> seeds8;
    std::vector<Seed16> seeds16;
    std::vector<std::uint32_t> seed_ids;
    std::vector<std::uint64_t> unreachable = std::vector<std::uint64_t>(256, 0);
    std::uint32_t unreachable_count = 0;
};

// Internal ids and their tokens. First the bytes: the tokens of bytes, or of ASCII characters.
struct Numbering {
    std::vector<std::uint32_t> internal;  // by id, kNoMerge for none
    std::vector<std::uint32_t> external;
    std::uint32_t first_byte_id = 0;
    std::uint32_t first_merged = 256;

    void add(TokenId id) {
        internal[id] = static_cast<std::uint32_t>(external.size());
        external.push_back(id);
    }
};

[[nodiscard]] inline Bytes token_of(const VocabInput& input, TokenId id) {
    return between(input.token_bytes, input.token_offsets[id], input.token_offsets[id + 1]);
}

// Calls visit(id, bytes) for every token that text can produce; of equal tokens only the first is.
template <typename Visit>
void for_each_token(const VocabInput& input, const Deriver& deriver, const Visit& visit) {
    const std::size_t count = input.token_offsets.size() - 1;
    for (TokenId id = 0; id < count; ++id) {
        const Bytes token = token_of(input, id);
        if (input.matchable[id] != 0 && !token.empty() && deriver.find(token) == id) {
            visit(id, token);
        }
    }
}

// A word of at most 16 bytes that is known from the start to become `ids`. Where it is `ambiguous`,
// it becomes `id` if it is a whole word.
void add_seed(Bytes token, TokenId id, const std::vector<TokenId>& ids, bool ambiguous, Walk& walk);

[[nodiscard]] Scalars scalars_of(const VocabInput& input, const Walk& walk,
                                 const Numbering& numbers);

// Words are merged from bytes or characters.
[[nodiscard]] Adjacency compile_merges(const VocabInput& input, const Deriver& deriver, Walk& walk,
                                       BlobWriter& out);

// Words are looked up in a trie: the best way through a word, its longest pieces, or itself.
[[nodiscard]] InsideCuts compile_unigram(const VocabInput& input, const Deriver& deriver,
                                         Walk& walk, BlobWriter& out);
void compile_wordpiece(const VocabInput& input, const Deriver& deriver, Walk& walk,
                       BlobWriter& out);
void compile_wordlevel(const VocabInput& input, const Deriver& deriver, Walk& walk,
                       BlobWriter& out);

// For words that are never cut: makes the junction filter join all characters of three bytes.
void join_everything(Walk& walk);

// The sections that these three share; `can_cut`: words may be cut at junctions. Returns the score
// of a character that no token covers.
double write_words(const VocabInput& input, const Walk& walk, const std::vector<TrieNode>& nodes,
                   bool can_cut, BlobWriter& out);

}  // namespace tokenmill::vocab
