#include "vocab/characters_build.h"

#include "base/utf8.h"

namespace tokenmill::vocab {

// Unknown characters first, then those that are tokens.
void write_characters(const VocabInput& input, const Walk& walk, const Numbering& numbers,
                      BlobWriter& out) {
    const bool has_unknown = input.unk_id != VocabView::kNoToken;
    std::vector<std::uint32_t> symbols(kBasicCodes, kNoMerge);
    std::vector<std::uint64_t> values(kBasicCodes, has_unknown ? pack_ids(&input.unk_id, 1) : 0);
    const std::uint32_t* const bytes = numbers.external.data() + numbers.first_byte_id;
    for (std::uint32_t code = 0x800; !input.byte_ids.empty() && code < kBasicCodes; ++code) {
        std::uint8_t text[3];
        encode3(code, text);
        const std::uint32_t ids[3] = {bytes[text[0]], bytes[text[1]], bytes[text[2]]};
        values[code] = pack_ids(ids, 3);
    }
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const Bytes text = token_of(input, id);
        const bool is_one = (text.size() == 2 || text.size() == 3) && text[0] >= 0xC0 &&
                            char_size(text[0]) == text.size();
        if (is_one && (walk.flags[id] & kMatchable) != 0 && numbers.internal[id] != kNoMerge) {
            const std::uint32_t code = decode_char(text.data(), char_size(text[0]));
            symbols[code] = numbers.internal[id];
            values[code] = pack_ids(&id, 1);
        }
    }
    out.add(kCharSymbols, symbols);
    out.add(kCharValues, values);
}

void write_words_of_one(const VocabInput& input, const std::vector<TrieNode>& nodes,
                        BlobWriter& out) {
    if (input.max_characters == 0 || input.unk_id >= input.matchable.size()) {
        return;
    }
    std::vector<std::uint64_t> values(kBasicCodes, pack_ids(&input.unk_id, 1));
    const Trie trie{nodes.data(), static_cast<std::uint32_t>(nodes.size())};
    for (std::uint32_t code = 0x800; code < kBasicCodes; ++code) {
        std::uint8_t text[3];
        encode3(code, text);
        std::uint32_t node = Trie::kRoot;
        for (std::size_t i = 0; i < 3 && node != Trie::kNoNode; ++i) {
            node = trie.step(node, text[i]);
        }
        if (node != Trie::kNoNode && nodes[node].token != 0) {
            const TokenId id = nodes[node].token - 1;
            values[code] = pack_ids(&id, 1);
        }
    }
    out.add(kCharValues, values);
}

}  // namespace tokenmill::vocab
