// split/advance: text -> the end of one match, by a DFA over code-point classes. Every faster
// scanner must agree with it, and falls back to it where its algebra ends.
#pragma once

#include "base/utf8.h"
#include "split/facts.h"

namespace tokenmill::split {

// A byte for every code point: flat for the basic plane, in pages of 256 above it.
struct ClassTable {
    const TmU8* basic;     // 65536
    const TmU16* page_of;  // 4096
    const TmU8* pages;

    TOKENMILL_HD TmU8 of(TmU32 code) const {
        if (code < 0x10000) {
            return basic[code];
        }
        const TmU32 above = code - 0x10000;
        return pages[TmU32(page_of[above >> 8]) << 8 | (above & 255)];
    }
};

// Facts about a code point of the basic plane in one byte: the first look-up for wide characters.
constexpr TmU32 kFactLetter = 1;
constexpr TmU32 kFactUnusual = 2;     // its other class bits matter too
constexpr TmU32 kFactLeftShift = 2;   // three bits: junction contexts it can be the left side of
constexpr TmU32 kFactRightShift = 5;  // three bits: contexts it can be the right side of
// The same bits for a vocabulary over characters: with which neighbours some token holds it.
constexpr TmU32 kFactAfterOther = kFactLetter;    // after a character of another size
constexpr TmU32 kFactBeforeOther = kFactUnusual;  // before one
constexpr TmU32 kFactBeforeChar3 = 1U << kFactLeftShift;
constexpr TmU32 kFactAfterChar3 = 1U << kFactRightShift;

struct Stage {
    ClassTable classes;
    const TmU16* next;  // [state << shift | class]; class n_classes is the end of the text
    TmU32 shift;
    TmU32 n_classes;
    const TmU8* sync;       // [left * n_classes + right]: a word always ends here
    const TmU8* separates;  // [left * n_classes + right]: no match reaches over this junction
    bool keep_match;
    bool keep_gap;
    bool on_bytes;  // every byte counts as the character with its number
};

TOKENMILL_HD TmU32 step_size(const Stage& stage, TmU8 lead) {
    return stage.on_bytes ? 1U : char_size(lead);
}

// End of the match that starts at `begin`, or null if none does.
TOKENMILL_HD const TmU8* match_end(const Stage& stage, const TmU8* begin, const TmU8* end) {
    const TmU8* found = nullptr;
    TmU32 state = kStartState;
    for (const TmU8* at = begin;;) {
        if (at == end) {
            return stage.next[state << stage.shift | stage.n_classes] & kMatchHere ? at : found;
        }
        const TmU8 lead = *at;
        const TmU32 size = step_size(stage, lead);
        const TmU32 code = size == 1 ? lead : decode_char(at, size);
        const TmU32 step = stage.next[state << stage.shift | stage.classes.of(code)];
        found = step & kMatchHere ? at : found;
        state = step & kStateMask;
        if (state == kDeadState) {
            return found;
        }
        at += size;
    }
}

}  // namespace tokenmill::split
