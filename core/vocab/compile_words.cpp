// vocab: a WordPiece or WordLevel vocabulary -> its sections. Words are looked up in a trie, whole
// or longest piece first, and are never cut.
#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "vocab/characters_build.h"
#include "vocab/trie_build.h"
#include "vocab/walk.h"

namespace tokenmill::vocab {

namespace {

// The score of a character that no token covers: less than that of any token.
double unknown_score_of(std::span<const double> scores) {
    constexpr double kPenalty = 10.0;
    return (scores.empty() ? 0.0 : *std::min_element(scores.begin(), scores.end())) - kPenalty;
}

// A token as a whole word is itself, unless words of that length are unknown.
void add_whole_word(const VocabInput& input, TokenId id, Bytes token, Walk& walk) {
    walk.flags[id] = kMatchable | kReachable;
    if (count_chars(token.data(), token.size()) <= input.max_characters) {
        add_seed(token, id, {id}, false, walk);
    }
}

// Free places have the byte of the place after them: only a base that ends in kNoBase would lead
// there.
void write_trie(const std::vector<TrieNode>& nodes, BlobWriter& out) {
    std::vector<std::uint32_t> cells;
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        const TrieNode& node = nodes[i];
        const bool is_child = node.parent < nodes.size();
        const std::uint32_t byte = is_child ? i - nodes[node.parent].base : i + 1;
        const bool has_token = is_child && node.token != 0;
        cells.push_back(
            SmallTrie::make_cell(node.base, has_token, static_cast<std::uint8_t>(byte)));
        tokens.push_back(node.token);
    }
    out.add(kTrieCells, cells);
    out.add(kNodeTokens, tokens);
}

}  // namespace

void join_everything(Walk& walk) {
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        walk.junctions.add_unknown(code);
    }
}

// There is no merging, so internal ids only number the tokens of bytes: 256 that are never used,
// then what the bytes of unknown characters become.
double write_words(const VocabInput& input, const Walk& walk, const std::vector<TrieNode>& nodes,
                   bool can_cut, BlobWriter& out) {
    write_trie(nodes, out);
    walk.junctions.write(can_cut, out);
    Numbering numbers;
    numbers.external.assign(256, VocabView::kNoToken);
    numbers.external.insert(numbers.external.end(), input.byte_ids.begin(), input.byte_ids.end());
    numbers.first_byte_id = 256;
    out.add(kExternalIds, numbers.external);
    Scalars scalars = scalars_of(input, walk, numbers);
    scalars.unknown_score = unknown_score_of(input.scores);
    out.add_value(kScalars, scalars);
    return scalars.unknown_score;
}

// A token that starts with the prefix ("##ing") continues a word. It is in the trie twice: as it is
// written, and without the prefix under a first byte that no text holds.
void compile_wordpiece(const VocabInput& input, const Deriver& deriver, Walk& walk,
                       BlobWriter& out) {
    TrieKeys keys;
    const std::string prefix(input.prefix.begin(), input.prefix.end());
    for_each_token(input, deriver, [&](TokenId id, Bytes token) {
        const std::string text(token.begin(), token.end());
        keys.emplace_back(text, id);
        if (text.size() > prefix.size() && text.starts_with(prefix)) {
            keys.emplace_back(static_cast<char>(Trie::kContinues) + text.substr(prefix.size()), id);
        }
        add_whole_word(input, id, token, walk);
    });
    join_everything(walk);
    const std::vector<TrieNode> nodes = build_trie(std::move(keys));
    write_words(input, walk, nodes, false, out);
    write_words_of_one(input, nodes, out);
}

// A word is a token or unknown. The trie is there because all kinds that look words up have one.
void compile_wordlevel(const VocabInput& input, const Deriver& deriver, Walk& walk,
                       BlobWriter& out) {
    TrieKeys keys;
    for_each_token(input, deriver, [&](TokenId id, Bytes token) {
        keys.emplace_back(std::string(token.begin(), token.end()), id);
        add_whole_word(input, id, token, walk);
    });
    join_everything(walk);
    write_words(input, walk, build_trie(std::move(keys)), false, out);
}

}  // namespace tokenmill::vocab
