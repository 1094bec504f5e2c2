// Added tokens: where they are, found after a first look at the text (checks.h) has listed the
// tiles where one may start. core/split/added.h is the CPU's version, and has the same tries.
//
// The text is searched from left to right; a match is the longest at its place, and the search
// continues after it. Here all places are searched at once, so matches overlap:
//   text      a _ _ _ _ _ b        tokens: two, three and four blanks
//   sizes     0 4 4 3 2 0 0        the longest match at each place
//   covered   0 0 1 1 1 1 0        places that an earlier match reaches over
//   heads     0 1 0 0 0 0 0        matches that are not covered: the search surely comes there
// One thread walks from each head to the first place that no match reaches over. There it stops,
// because the search surely comes there too.
#pragma once

#include "text.h"

// Flags of a token, as in core/split/added.h.
constexpr u32 kSpecialToken = 1;
constexpr u32 kStripsLeft = 4;
constexpr u32 kStripsRight = 8;
constexpr u32 kSingleWord = 16;
constexpr u32 kLeaveToken = 1u << 31;  // only the CPU can cut it out (support.py)

constexpr u32 kWhiteClass = 1;
constexpr u32 kWordClass = 2;

constexpr u32 kLongestAdded = 255;   // bytes
constexpr u32 kLongestChain = 4096;  // bytes that one thread walks
constexpr u32 kHaloWords = 8;        // of 32 bytes before a tile: more than a token has
static_assert(kHaloWords * 32 > kLongestAdded, "a match from before the halo reaches no tile");

// A tile is listed once as a candidate (kMayAdd), and once for bounds_again (the other bits).
TM_DEVICE void list_candidate(const Batch* batch, u32 tile) {
    u32* const bits = batch->tile_again + tile;
    if (*bits == 0 && atomicOr(bits, kMayAdd) == 0) {
        batch->added_tiles[atomicAdd(batch->counters + kAddedTiles, 1u)] = tile;
    }
}

// The tokens of one kind: those of the raw text, or those of the text between them.
//   nodes   x first child   y how many   z token + 1, or 0   w byte that leads to the first child
//   runs    of a byte: entries from bits 23..0, as many as bits 31..24; entry d - 1 is for d times
//           that byte: the node, and in bits 31..24 the size of the longest token in them
struct AddedTrie {
    const uint4* nodes;
    const u8* edges;
    const u32* heads;  // of runs: the 256 of this kind
    const u32* runs;
    bool is_raw;
};

struct AddedMatch {
    u32 size;  // 0: none
    u32 token;
};

struct AddedSearch {
    const Tables* tables;
    const Batch* batch;
    Text text;
    AddedTrie trie;

    // Where the text that is searched ends, among 32 bytes. Tokens of the raw text end it, too.
    TM_DEVICE u32 ends_of_word(u32 word) const {
        return document_word(text, int(word)) | (trie.is_raw ? 0 : batch->raw_bits[word]);
    }

    TM_DEVICE bool is_end(u32 position) const {
        return position >= text.size || (ends_of_word(position >> 5) >> (position & 31) & 1) != 0;
    }

    TM_DEVICE bool is_begin(u32 position) const {
        const u32 before = position - 1;
        return begins_document(text, position) ||
               (!trie.is_raw && (batch->raw_bits[before >> 5] >> (before & 31) & 1) != 0);
    }

    // Bytes from a place to where its text ends; not more than a token needs.
    TM_DEVICE u32 room_at(u32 position) const {
        u32 word = position >> 5;
        u32 ends = ends_of_word(word) & bits_above(position & 31);
        while (ends == 0 && 32 * word < position + kLongestAdded && 32 * word < text.size) {
            ++word;
            ends = ends_of_word(word);
        }
        return ends == 0 ? kLongestAdded : 32 * word + lowest_bit(ends) - position;
    }

    // How often the byte at a place is repeated, up to the size of a token.
    TM_DEVICE u32 run_at(u32 position) const {
        const u32 spread = text.bytes[position] * 0x01010101U;
        u32 run = 0;
        while (run < kLongestAdded && position + run < text.size) {
            const u32 other = four_bytes(text.bytes, position + run) ^ spread;
            if (other != 0) {
                return run + lowest_bit(other) / 8;
            }
            run += 4;
        }
        return run;
    }

    TM_DEVICE u32 child(const uint4& node, u32 byte) const {
        if (node.y < 2) {
            return node.y != 0 && node.w == byte ? node.x : 0;
        }
        u32 low = node.x;
        u32 count = node.y;
        while (count > 1) {
            const u32 half = count / 2;
            low += trie.edges[low + half] <= byte ? half : 0;
            count -= half;
        }
        return trie.edges[low] == byte ? low : 0;
    }

    // The longest token at a place where the text has not ended, whose byte comes `run` times.
    TM_DEVICE AddedMatch longest(u32 position, u32 run) const {
        const u32 head = trie.heads[text.bytes[position]];
        if (head == 0) {
            return {0, 0};
        }
        const u32 room = room_at(position);
        const u32 depth = head >> 24 < run ? head >> 24 : run;
        u32 at = depth < room ? depth : room;
        const u32* const entries = trie.runs + (head & 0xFFFFFF) - 1;
        u32 size = entries[at] >> 24;
        uint4 node = read_table(trie.nodes + (entries[at] & 0xFFFFFF));
        u32 token = size == 0 ? 0 : read_table(trie.nodes + (entries[size] & 0xFFFFFF)).z;
        while (at < room) {
            const u32 next = child(node, text.bytes[position + at]);
            if (next == 0) {
                break;
            }
            node = read_table(trie.nodes + next);
            ++at;
            size = node.z != 0 ? at : size;
            token = node.z != 0 ? node.z : token;
        }
        return {size, token};
    }

    TM_DEVICE AddedMatch longest(u32 position) const { return longest(position, run_at(position)); }

    TM_DEVICE u32 class_at(u32 position) const {
        const u32 code = char_at(text, position).code;
        return class_of(tables->added_basic, tables->added_page_of, tables->added_pages, code);
    }

    TM_DEVICE bool is_alone(u32 begin, u32 end) const {
        const bool is_open =
            is_begin(begin) || (class_at(char_before(text, begin)) & kWordClass) == 0;
        return is_open && (is_end(end) || (class_at(end) & kWordClass) == 0);
    }

    // The white space on both sides of a token belongs to it. support.py leaves a token to the CPU
    // if another one may want the same white space. Returns false if it is too much.
    TM_DEVICE bool strip(u32 flags, u32& begin, u32& end) const {
        const u32 first = begin;
        const u32 last = end;
        while ((flags & kStripsLeft) != 0 && first - begin < kLongestChain && !is_begin(begin)) {
            const u32 before = char_before(text, begin);
            if ((class_at(before) & kWhiteClass) == 0) {
                break;
            }
            begin = before;
        }
        while ((flags & kStripsRight) != 0 && end - last < kLongestChain && !is_end(end)) {
            if ((class_at(end) & kWhiteClass) == 0) {
                break;
            }
            end += char_at(text, end).size;
        }
        return first - begin < kLongestChain && end - last < kLongestChain;
    }

    TM_DEVICE void list_tile(u32 tile) const {
        u32* const bits = batch->tile_again + tile;
        if ((*bits & kHasSpan) == 0 && (atomicOr(bits, kHasSpan) & ~kMayAdd) == 0) {
            batch->again_tiles[atomicAdd(batch->counters + kSpanTiles, 1u)] = tile;
        }
    }

    // Words of 32 bits: the bytes begin to end of the text.
    TM_DEVICE void set_bits(u32* bits, u32 begin, u32 end) const {
        for (u32 at = begin; at < end;) {
            const u32 stop = (at | 31) + 1 < end ? (at | 31) + 1 : end;
            atomicOr(bits + (at >> 5), (~0U >> (32 - (stop - at))) << (at & 31));
            at = stop;
        }
    }

    // Its id is where those of a miss are: no token is a miss.
    TM_DEVICE void write_span(u32 begin, u32 end, u32 id) const {
        set_bits(batch->span_bits, begin, begin + 1);
        set_bits(batch->inner_bits, begin + 1, end);
        if (trie.is_raw) {
            set_bits(batch->raw_bits, begin, end);
        }
        batch->arena[TM_ARENA_STEP * begin] = id;
        list_tile(begin / TM_TILE);
        const u32 last = end < text.size ? end : end - 1;
        if (last / TM_TILE != begin / TM_TILE) {
            for (u32 tile = begin / TM_TILE + 1; tile <= last / TM_TILE; ++tile) {
                list_tile(tile);
            }
        }
    }

    // What the search does with a match that it comes to.
    TM_DEVICE void take(u32 begin, const AddedMatch& match) const {
        const u32* const token = tables->added_tokens + 2 * (match.token - 1);
        const u32 flags = token[1];
        u32 end = begin + match.size;
        const bool is_special = (flags & kSpecialToken) != 0;
        if ((is_special && (batch->options & kSkipSpecial) != 0) ||
            ((flags & kSingleWord) != 0 && !is_alone(begin, end))) {
            return;
        }
        const bool is_left =
            (flags & kLeaveToken) != 0 || (is_special && (batch->options & kRaiseSpecial) != 0);
        const u32 place = begin;
        if (is_left || !strip(flags, begin, end)) {
            leave_document_at(batch, place, kAddedToken);
            return;
        }
        write_span(begin, end, token[0]);
    }
};
