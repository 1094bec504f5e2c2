// WordPiece: a word -> the longest token that starts it, then the longest that continues it, and so
// on; one unknown token if that does not cover the word, or if it has too many characters.
#pragma once

#include "vocab/trie.h"

#include "rewrites.h"

#if TM_WORD_PIECE

using tokenmill::vocab::SmallTrie;

// Characters of a normalized word, but no more than needed to know that there are too many.
TM_DEVICE u32 count_characters(const WordText& word) {
    u32 count = 0;
    WordCursor cursor = word.start();
    while (count <= TM_MAX_CHARACTERS && word.load(cursor)) {
        count += tokenmill::is_continuation(u8(word.next(cursor))) ? 0 : 1;
    }
    return count;
}

// Moves `cursor` past the longest token from there. Returns its node, 0 if there is none.
TM_DEVICE u32 longest_token(const u32* cells, u32 cell, const WordText& word, WordCursor& cursor) {
    u32 found = 0;
    WordCursor ahead = cursor;
    while (word.load(ahead)) {
        const u8 byte = u8(word.next(ahead));
        const u32 node = SmallTrie::child(cell, byte);
        cell = read_table(cells + node);
        if (!SmallTrie::leads_to(cell, byte)) {
            break;
        }
        if ((cell & SmallTrie::kToken) != 0) {
            found = node;
            cursor = ahead;
        }
    }
    return found;
}

// Writes the ids of a word, and returns how many: at most one for each of its bytes.
TM_DEVICE u32 word_ids(const Tables* tables, const Batch* batch, uint4 miss, u32* ids) {
    const WordText word = word_text(tables, batch, miss);
    const u32 characters = count_characters(word);
    if (characters == 0) {
        return 0;
    }
    const u32* const cells = tables->trie_cells;
    u32 count = 0;
    u32 node = characters <= TM_MAX_CHARACTERS ? 1 : 0;
    for (WordCursor cursor = word.start(); node != 0 && word.load(cursor);) {
        node = longest_token(cells, count == 0 ? cells[0] : TM_CONTINUES, word, cursor);
        if (node != 0 && count < miss_size(miss)) {
            ids[count++] = read_table(tables->trie_tokens + node) - 1;
        }
    }
    if (node == 0) {
        ids[0] = TM_UNKNOWN;
        return 1;
    }
    return count;
}

#endif
