// Runs that reach over more than the neighbours of a word of 32 bytes are followed word by word
// through the masks of the tile; Edges has the answer where a run leaves the tile.
//
// `seen` are the bits of a word that belong to the run's side of the window:
//   going left    first word 0x0000FFFF (the half that the window does not show), then all bits
//   going right   first word 0xFFFF0000, then all bits
#pragma once

#include "tile.h"

#if TM_FAMILY >= 2

// Does the first byte of the window of word i, a newline or slash, belong to punctuation before it?
//   text    . \n / \n | \n       first   0 1 0 0    a newline right after punctuation
//   tail    0 1  1 1  |  1       run     0 1 1 1    unbroken tail up to the window
// `first` inside of `run`: yes. `doubt`: the punctuation may be a mark that belongs to a letter.
// The window starts in the middle of word i - 1: bit 16, so bits 0 to 16 are seen first.
TM_DEVICE u32 absorbed_before(const Tile& tile, u32 i) {
    u32 seen = 0x1FFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 documents = tile.documents(w);
        const u32 before = w == 0 ? 0 : tile.other(w - 1) >> 31;
        const u32 hard_before = w == 0 ? 0 : tile.hard(w - 1) >> 31;
        const u32 first =
            tile.word(kMaskNewline, w) & (tile.other(w) << 1 | before) & ~documents & seen;
        const u32 doubt = tile.hard(w) << 1 | hard_before;
        const u32 stops = (~tile.tail(w) | documents) & seen;
        const u32 run = stops == 0 ? seen : seen & bits_above(highest_bit(stops));
        if ((first & run & ~doubt) != 0) {
            return 1;
        }
        if ((first & run) != 0) {
            return kUnknown;
        }
        if (stops != 0) {
            return 0;
        }
        if (w == 0) {
            return tile.edges->absorbed;
        }
    }
}

#endif

// How many number characters are directly before the window of word i, modulo a group.
//   number   1 1 0 1 1 1 | window      gaps  0 0 1 0 0 0      run  0 0 0 1 1 1 -> 3
TM_DEVICE u32 digits_before(const Tile& tile, u32 i, u32 group) {
    u32 count = 0;
    u32 seen = 0xFFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 number = tile.word(kMaskNumber, w);
        const u32 documents = tile.documents(w) & seen;
        const u32 gaps = ~number & seen;
        u32 run = gaps == 0 ? seen : seen & bits_above(highest_bit(gaps));
        const u32 begin = documents & run;
        run &= begin == 0 ? ~0U : ~((1U << highest_bit(begin)) - 1);
        const u32 last_gap = gaps == 0 || begin != 0 ? 0 : 1U << highest_bit(gaps);
        if ((tile.hard(w) & (run | last_gap)) != 0) {
            return kUnknown;
        }
        count += count_bits(run & ~tile.word(kMaskInside, w));
        if (gaps != 0 || begin != 0) {
            return count % group;
        }
        if (w == 0) {
            return tile.edges->digits == kUnknown ? kUnknown : (count + tile.edges->digits) % group;
        }
    }
}

#if TM_FAMILY >= 2

// What ends the blanks that reach the end of the window of word i.
TM_DEVICE u32 blanks_end(const Tile& tile, u32 i) {
    u32 seen = ~0xFFFFU;
    for (u32 w = i + 1; w < TM_MASK_WORDS; ++w, seen = ~0U) {
        const u32 newline = tile.word(kMaskNewline, w);
        const u32 documents = tile.documents(w);
        const u32 stops = (~tile.word(kMaskWhite, w) | newline | documents) & seen;
        if (stops != 0) {
            const u32 stop = stops & (0 - stops);
            return (documents & stop) != 0 ? kRunEndOfText
                   : (newline & stop) != 0 ? kRunNewline
                                           : kRunText;
        }
    }
    return tile.edges->white;
}

#endif

#if TM_CASED

// Does a letter follow the capitals that reach the end of the window of word i?
TM_DEVICE u32 letter_after(const Tile& tile, u32 i) {
    u32 seen = ~0xFFFFU;
    for (u32 w = i + 1; w < TM_MASK_WORDS; ++w, seen = ~0U) {
        const u32 documents = tile.documents(w);
        const u32 stops = (~tile.word(kMaskUpper, w) | documents) & seen;
        if (stops != 0) {
            const u32 stop = stops & (0 - stops) & ~documents;
            return (tile.hard(w) & stop) != 0 ? kUnknown : (tile.word(kMaskLetter, w) & stop) != 0;
        }
    }
    return kUnknown;
}

// A lower-case letter (its last byte) before caseless ones: is it part of their word? Not if it
// ends a contraction, which depends on what comes before that.
TM_DEVICE u32 is_of_word(const Text& text, u32 position) {
    const u8* const last = text.bytes + position;
    return TM_CONTRACTION != 0 && (last[-1] == '\'' || last[-2] == '\'') ? kUnknown : 1;
}

// Is there a lower-case letter of the same word before the caseless ones that reach back to the
// start of the window of word i?
TM_DEVICE u32 lower_before(const Tile& tile, u32 i) {
    u32 seen = 0xFFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 lower = tile.word(kMaskLower, w);
        const u32 cased = tile.word(kMaskUpper, w) | lower;
        const u32 stops = (~tile.word(kMaskLetter, w) | cased) & seen;
        const u32 stop = stops == 0 ? 0 : highest_bit(stops);
        const u32 run = stops == 0 ? seen : seen & bits_above(stop);
        if ((tile.documents(w) & run) != 0) {
            return 0;
        }
        if (stops != 0) {
            const u32 position = u32(tile.first_word + int(w)) * 32 + stop;
            return (tile.hard(w) >> stop & 1) != 0 ? kUnknown
                   : (lower >> stop & 1) != 0      ? is_of_word(tile.text, position)
                                                   : 0;
        }
        if (w == 0) {
            return kUnknown;
        }
    }
}

#endif
