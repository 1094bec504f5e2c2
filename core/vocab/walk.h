// What compiling a vocabulary learns from its tokens, and the two ways to do it.
#pragma once

#include <vector>

#include "base/blob.h"
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

// A word of at most 16 bytes that is known from the start to become `ids`. Where it is `ambiguous`,
// it becomes `id` if it is a whole word.
void add_seed(Bytes token, TokenId id, const std::vector<TokenId>& ids, bool ambiguous, Walk& walk);

[[nodiscard]] Scalars scalars_of(const VocabInput& input, const Walk& walk,
                                 const Numbering& numbers);

// Words are merged from bytes or characters.
[[nodiscard]] Adjacency compile_merges(const VocabInput& input, const Deriver& deriver, Walk& walk,
                                       BlobWriter& out);

// Words are looked up: in the trie, from their first byte on.
[[nodiscard]] InsideCuts compile_words(const VocabInput& input, const Deriver& deriver, Walk& walk,
                                       BlobWriter& out);

}  // namespace tokenmill::vocab
