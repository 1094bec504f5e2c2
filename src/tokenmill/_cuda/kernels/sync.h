// Places where a word starts in any text, for words that the algebra does not cover: the DFA can
// start there.
#pragma once

#include "tile.h"

#if TM_CASED

// Where a word starts in any text:
//   after a letter or number   anything but a letter, number or apostrophe that may continue it
//   after punctuation          a blank
//   after a newline            a letter or number
// At the left edge of the masks some are missed, which is safe.
TM_DEVICE u32 sync_places(const Tile& tile, u32 w) {
    const auto after = [w](u32 own, u32 before) { return own << 1 | (w == 0 ? 0 : before >> 31); };
    const u32 last = w == 0 ? 0 : w - 1;
    const u32 letter = tile.word(kMaskLetter, w);
    const u32 number = tile.word(kMaskNumber, w);
    const u32 newline = tile.word(kMaskNewline, w);
    const u32 blank = tile.word(kMaskWhite, w) & ~newline;
    const u32 other = tile.other(w);
    const u32 after_letter = after(letter, tile.word(kMaskLetter, last));
    const u32 after_number = after(number, tile.word(kMaskNumber, last));
    u32 ends = blank | newline | other;
#if TM_CONTRACTION != 0
    ends &= ~tile.word(kMaskApostrophe, w);
#endif
    u32 places = ((after_letter | after_number) & ends) | (after_letter & number);
    places |= after_number & letter;
    places |= after(other, tile.other(last)) & blank;
    places |= after(newline, tile.word(kMaskNewline, last)) & (letter | number);
#if TM_ISOLATE_HAN
    const u32 han = tile.word(kMaskHan, w);
    places |= after(han, tile.word(kMaskHan, last)) & (ends | letter | number);
    places |= after_letter & han;
#endif
    const u32 hard = tile.hard(w);
    return (places & ~hard & ~after(hard, tile.hard(last))) | tile.documents(w);
}

// The last of those places up to the first byte of word i, or ~0.
TM_DEVICE u32 sync_before(const Tile& tile, u32 i) {
    u32 seen = 1;
    for (u32 w = i;; --w, seen = ~0U) {
        const u32 places = sync_places(tile, w) & seen;
        if (places != 0) {
            return u32(tile.first_word + int(w)) * 32 + highest_bit(places);
        }
        if (w == 0) {
            return ~0U;
        }
    }
}

#endif
