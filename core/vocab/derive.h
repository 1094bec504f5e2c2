// vocab: a token -> how merging builds it from its own bytes, by the rules of the definition.
// Internal to vocab.
#pragma once

#include <unordered_map>
#include <vector>

#include "vocab/vocab.h"

namespace tokenmill::vocab {

// The last merge when a token is built alone.
struct Derivation {
    std::uint32_t rank;
    TokenId left;
    TokenId right;
    TokenId id;
};

class Deriver {
public:
    explicit Deriver(const VocabInput& input);

    [[nodiscard]] TokenId byte_id(std::uint8_t byte) const { return byte_ids_[byte]; }
    [[nodiscard]] TokenId find(Bytes token) const;
    [[nodiscard]] const std::vector<std::uint32_t>& index() const { return index_; }
    // Ids of `word` by ranked merging alone, none if it holds an unknown character. `last`, if
    // given, receives the final merge.
    void merge(Bytes word, std::vector<TokenId>& ids, Derivation* last = nullptr) const;

private:
    struct Merge {
        std::uint32_t rank;
        TokenId id;
    };
    [[nodiscard]] Bytes bytes_of(TokenId id) const;
    [[nodiscard]] Merge look_up(TokenId left, TokenId right) const;
    [[nodiscard]] std::size_t symbol_size(Bytes rest) const;
    void start(Bytes word, std::vector<TokenId>& ids) const;
    void build_index();
    void build_merges();

    const VocabInput& input_;
    std::size_t count_;
    std::vector<std::uint32_t> index_;
    std::vector<TokenId> byte_ids_;
    std::vector<std::uint64_t> merge_keys_;  // left << 32 | right, +1 so that 0 is free
    std::vector<Merge> merge_values_;
    mutable std::vector<std::uint8_t> scratch_;
};

}  // namespace tokenmill::vocab
