// vocab: a compiled vocabulary -> its tokens as one table.
#include "vocab/vocab.h"

namespace tokenmill::vocab {

// Of equal tokens only the one that find() returns counts: a table of both would be ambiguous.
TokenTable VocabView::list_tokens() const {
    TokenTable table;
    table.offsets.push_back(0);
    for (TokenId id = 0; id < token_count(); ++id) {
        const Bytes token = token_bytes(id);
        const bool is_text = !token.empty() && find(token) == id;
        if (is_text) {
            table.bytes.insert(table.bytes.end(), token.begin(), token.end());
        }
        table.offsets.push_back(table.bytes.size());
        table.is_reachable.push_back(is_text && is_reachable(id) ? 1 : 0);
    }
    return table;
}

}  // namespace tokenmill::vocab
