// Unigram: a word, with a blank in front -> the pieces with the greatest sum of scores. Sums are
// added from the left, and the first of equals is kept, as in core/encode/look_up.cpp.
#pragma once

#include "vocab/trie.h"

#include "rewrites.h"

#if TM_UNIGRAM

using tokenmill::vocab::SmallTrie;

// The best sums up to the places of a word, from the current one on: no piece is longer than
// TM_RING - 1 bytes. The steps of the best way lie in the arena: one for each byte of the word, at
// its end.
//   bits   31 .. 24              23 .. 0
//          bytes of the piece    its node, 0 for an unknown character
struct UnigramWay {
    double sums[TM_RING];
    u32* steps;

    TM_DEVICE void clear(u32 at) { sums[at % TM_RING] = kNotReached; }
    TM_DEVICE void offer(u32 begin, u32 end, double sum, u32 node) {
        double& best = sums[end % TM_RING];
        if (sum > best) {
            best = sum;
            steps[end - 1] = (end - begin) << 24 | node;
        }
    }

    static constexpr double kNotReached = -1e300;
};

// Offers all pieces that start at a place. Returns the bytes of its first character; `cursor`,
// which is at that place, moves past them. A character that the word ends in is malformed.
TM_DEVICE u32 offer_pieces(const Tables* tables, const WordText& word, u32 at, WordCursor& cursor,
                           UnigramWay& way) {
    const double here = way.sums[at % TM_RING];
    WordCursor ahead = cursor;
    u32 cell = tables->trie_cells[0];
    u32 size = 0;  // of the first character
    u32 seen = 0;  // bytes
    bool is_known = true;
    while (seen < TM_RING - 1 && (is_known || seen < size) && word.load(ahead)) {
        const u8 byte = u8(word.next(ahead));
        ++seen;
        size = size == 0 ? tokenmill::char_size(byte) : size;
        const u32 node = SmallTrie::child(cell, byte);
        if (is_known) {
            cell = read_table(tables->trie_cells + node);
            is_known = SmallTrie::leads_to(cell, byte);
        }
        const bool is_token = is_known && (cell & SmallTrie::kToken) != 0;
        if (seen == size) {
            cursor = ahead;
        }
        if (seen == size && !is_token) {
            way.offer(at, at + seen, tables->trie_scores[0] + here, 0);
        }
        if (seen >= size && is_token) {
            way.offer(at, at + seen, tables->trie_scores[node] + here, node);
        }
    }
    if (seen < size) {
        cursor = ahead;
        way.offer(at, at + seen, tables->trie_scores[0] + here, 0);
    }
    return seen < size ? seen : size;
}

// Walks back over the best way, and writes its ids to the places of its steps, from the last one
// down: there are no more pieces than bytes, so no step is lost. Neighbouring unknowns are one.
// Then moves the ids to the front. Returns how many there are.
TM_DEVICE u32 collect_ids(const Tables* tables, u32* steps, u32 size) {
    u32 first = size;
    u32 last_id = ~0u;
    for (u32 at = size; at > 0;) {
        const u32 step = steps[at - 1];
        const u32 node = step & 0xFFFFFF;
        const u32 id = node == 0 ? TM_UNKNOWN : read_table(tables->trie_tokens + node) - 1;
        if (id != TM_UNKNOWN || last_id != TM_UNKNOWN) {
            steps[--first] = id;
        }
        last_id = id;
        at -= step >> 24;
    }
    for (u32 i = 0; first + i < size; ++i) {
        steps[i] = steps[first + i];
    }
    return size - first;
}

// Writes the ids of a word, and returns how many: none for white space, unless it ends a document
// (TM_CLOSING), where it stands for one blank.
TM_DEVICE u32 word_ids(const Tables* tables, const Batch* batch, uint4 miss, u32* ids) {
    const WordText word = word_text(tables, batch, miss);
    WordCursor first = word.start();
    if (!word.load(first) && !(TM_CLOSING != 0 && (miss.y & kPiece) != 0 && word.has_blank())) {
        return 0;
    }
    UnigramWay way;
    way.steps = ids;
    for (u32 i = 1; i < TM_RING; ++i) {
        way.clear(i);
    }
    way.sums[0] = 0;
    u32 at = 0;
    for (WordCursor cursor = word.start_with(' '); word.load(cursor);) {
        const u32 size = offer_pieces(tables, word, at, cursor, way);
        for (u32 i = 0; i < size; ++i) {
            way.clear(at++);
        }
    }
    return collect_ids(tables, ids, at);
}

#endif
