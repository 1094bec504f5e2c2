// Cased words: where capitals start a word after caseless letters.
//
//   a word is  (upper | caseless)*  (lower | caseless)*        X caseless, A upper, a lower
//
//   text    a X A a      text    A X A a      text    X A A .
//   starts  1 0 1 0      starts  1 0 0 0      starts  1 1 0 1
//           after lower,         still in its         no letter after the capitals: the word ends
//           a new word           first part           with its last caseless letter
#pragma once

#include "window.h"

#if TM_CASED

// Does a letter follow the capitals that start at a bit of the window?
TM_DEVICE u32 letter_after(const Tile& tile, u32 i, const Window& w, u64 upper, u32 at) {
    const u64 stops = (~upper | w.begins) & (~u64{1} << at);
    if (stops == 0) {
        return letter_after(tile, i);
    }
    const u64 stop = stops & (0 - stops) & ~w.begins;
    return (tile.window(kMaskHard, i) & stop) != 0 ? kUnknown : (w.letter & stop) != 0;
}

// Is there a lower-case letter of the same word before the caseless ones that end at a bit?
TM_DEVICE u32 lower_before(const Tile& tile, u32 i, const Window& w, u64 caseless, u64 lower,
                           u32 at) {
    const u64 before = (u64{1} << at) - 1;
    const u64 stops = ~caseless & before;
    const u32 stop = stops == 0 ? 0 : highest_bit64(stops);
    const u64 run = stops == 0 ? before : before & (~u64{1} << stop);
    if ((w.begins & run) != 0) {
        return 0;
    }
    if (stops == 0) {
        return lower_before(tile, i);
    }
    const u32 position = u32(tile.first_word + int(i)) * 32 - 16 + stop;
    return (lower >> stop & 1) != 0 ? is_of_word(tile.text, position) : 0;
}

// The capitals after a caseless letter that start a word: if no letter follows them, they do (the
// match gives them back and ends with its last caseless letter); if a letter follows, they do if
// the word is in its second part, which has a lower-case letter.
TM_DEVICE u64 capital_starts(const Tile& tile, u32 i, const Window& w, u64 upper, u64 lower,
                             bool& hard) {
    const u64 caseless = w.letter & ~upper & ~lower;
    u64 starts = 0;
    for (u64 rest = upper & w.after(caseless) & kOwn; rest != 0; rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u32 next = letter_after(tile, i, w, upper, at);
        const u32 begins = next == 1 ? lower_before(tile, i, w, caseless, lower, at) : next ^ 1;
        hard |= begins > 1;
        starts |= u64(begins & 1) << at;
    }
    return starts;
}

#endif
