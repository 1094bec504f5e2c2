// pieces: ids of a model of sentences -> text, an id at a time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "decode/decode.h"

namespace tokenmill::decode {

// The rules of one model, ready to be looked up.
class PieceTable {
public:
    // Borrows the vocabulary. Throws Error(BadSpec) for rules that contradict each other.
    PieceTable(const vocab::VocabView& vocab, std::size_t id_count, PieceRules rules);

    [[nodiscard]] bool is_control(TokenId id) const noexcept;
    [[nodiscard]] int byte_of(TokenId id) const noexcept;  // or -1
    // What an id writes after others, if it is not a byte.
    [[nodiscard]] std::string written(TokenId id) const;
    [[nodiscard]] bool begins_with_marker(TokenId id) const;
    [[nodiscard]] PieceRules::Strip strip() const noexcept { return rules_.strip; }

private:
    [[nodiscard]] std::string_view text_of(TokenId id) const noexcept;

    const vocab::VocabView& vocab_;
    PieceRules rules_;
    std::unordered_map<TokenId, std::uint8_t> bytes_;
};

// One decoding. Appends what is certain. Borrows the table.
class PieceRun {
public:
    explicit PieceRun(const PieceTable& table)
        : table_(&table), strips_(table.strip() != PieceRules::Strip::None) {}
    void push(TokenId id, std::string& out);
    void finish(std::string& out) { take_bytes(true, out); }

private:
    void take_bytes(bool is_final, std::string& out);

    const PieceTable* table_;
    std::string bytes_;
    bool strips_;
    bool has_written_ = false;
};

}  // namespace tokenmill::decode
