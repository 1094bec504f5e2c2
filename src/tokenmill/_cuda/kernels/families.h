// Where words start, by bit algebra on windows of 64 bytes. core/split/split-inl.h is the CPU's
// version: it carries bits from block to block. Here documents may start inside a window, and
// nothing is carried from the left: runs.h looks up what a window cannot show.
#pragma once

#include "capitals.h"
#include "window.h"

#if TM_FAMILY == 1

// Letters, numbers and punctuation, each with at most one blank before them.
//   text    i t ' s _ _ 4 2 !
//   letter  1 1 0 1 0 0 0 0 0      starts after anything else, unless a space leads it
//   other   0 0 1 0 0 0 0 0 1      (what is left: punctuation)
//   number  0 0 0 0 0 0 1 1 0
//   white   0 0 0 0 1 1 0 0 0      starts after anything else, and at the last one of a run
//   starts  1 0 1 0 1 1 0 0 1      the contraction 's is one word: no start at its s
TM_DEVICE Starts word_starts(const Tile& tile, u32 i) {
    const Window w = window_of(tile, i);
    bool hard = false;
    const u64 after_space = w.after(w.space);
    const u64 other = w.other & ~w.after(w.other) & ~after_space;
    u64 starts = (w.letter & ~w.after(w.letter) & ~after_space) | other;
#if TM_ISOLATE_DIGITS
    starts |= w.number & ~w.inside;
#elif TM_DIGITS == 0
    starts |= w.number & ~w.after(w.number) & ~after_space;
#else
    starts |= number_starts(tile, i, w, hard);
#endif
    starts |= w.white & ~w.after(w.white);
    starts |= last_of_white_runs(w, TM_ISOLATE_DIGITS ? w.number : 0);
#if TM_CONTRACTION != 0
    const u32 base = u32(tile.first_word + int(i)) * 32 - 16;
    const u64 apostrophes = tile.window(kMaskApostrophe, i) & other & (kOwn | kOwn >> 3);
    for (u64 rest = apostrophes; rest != 0; rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u32 size = contraction_at(tile.text, base + at, u32(w.begins >> at >> 1));
        if (size != 0) {
            starts = (starts & ~(u64{2} << at)) | u64{1} << (at + size);
        }
    }
#endif
    return {starts, hard};
}

#elif TM_FAMILY >= 2

// Newlines directly after punctuation, with all of the tail that follows.
//   text      ! \n \n a \n
//   tail      0 1  1  0 1
//   first     0 1  0  0 0       a newline right after punctuation
//   absorbed  0 1  1  0 0       tail + first carries through the run: the bits that change
TM_DEVICE u64 absorbed_tails(const Tile& tile, u32 i, const Window& w, u64 newline, bool& hard) {
    if (TM_TAIL == 0 || newline == 0) {
        return 0;
    }
#if TM_TAIL == 2
    const u64 tail = (newline | tile.window(kMaskSlash, i)) & ~w.begins;
#else
    const u64 tail = newline & ~w.begins;
#endif
    u64 first = newline & w.after(w.other);
    if ((tail & 1) != 0) {
        const u32 absorbed = absorbed_before(tile, i);
        hard |= absorbed == kUnknown;
        first |= absorbed & 1;
    }
    // Where the carry meets another first bit, the sum has the same bit as `tail`: `| first` adds
    // it.
    return tail & (((tail + first) ^ tail) | first);
}

TM_DEVICE u64 white_starts(const Tile& tile, u32 i, const Window& w, u64 newline, u64 absorbed) {
    const u64 after_absorbed = w.after(absorbed);
    const u64 blanks = w.white & ~newline;
    u64 starts = w.white & ~absorbed & (~w.after(w.white) | after_absorbed);
    // After the last newline of a run.
    for (u64 rest = blanks & w.after(newline) & ~after_absorbed & kOwn; rest != 0;
         rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u64 stops = (~blanks | w.begins) & (~u64{1} << at);
        u32 end = kRunText;
        if (stops == 0) {
            end = blanks_end(tile, i);
        } else {
            const u64 stop = stops & (0 - stops);
            end = (w.begins & stop) != 0  ? kRunEndOfText
                  : (newline & stop) != 0 ? kRunNewline
                                          : end;
        }
        starts |= u64(starts_after_newline(end, TM_END_RUN != 0)) << at;
    }
    return (starts | (last_of_white_runs(w, 0) & ~newline)) & ~w.inside;
}

#if TM_CONTRACTION != 0

// A contraction is a word of its own, so another word starts after it.
TM_DEVICE u64 with_contractions(const Tile& tile, u32 i, const Window& w, u64 apostrophes,
                                u64 starts) {
    const u32 base = u32(tile.first_word + int(i)) * 32 - 16;
    for (u64 rest = apostrophes & (kOwn | kOwn >> 3); rest != 0; rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u32 size = contraction_at(tile.text, base + at, u32(w.begins >> at >> 1));
        starts |= size == 0 ? 0 : u64{1} << (at + size);
    }
    return starts;
}

// A contraction belongs to the letters before it. Of two in a row only the first one does, so if
// the window may cut off the one before, the DFA must scan.
TM_DEVICE u64 with_suffixes(const Tile& tile, u32 i, const Window& w, u64 apostrophes, u64 starts,
                            bool& hard) {
    const u32 base = u32(tile.first_word + int(i)) * 32 - 16;
    u64 ends = 0;
    for (u64 rest = apostrophes & (kOwn | kOwn >> 6); rest != 0; rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u32 size = contraction_at(tile.text, base + at, u32(w.begins >> at >> 1));
        if (size != 0) {
            hard |= (ends >> at & 1) != 0;
            starts &= ~(((u64{1} << size) - 1) << at);
            ends |= u64{1} << (at + size);
        }
    }
    return starts | ends;
}

#endif

// Letters with any one character before them that is not a newline, letter or number.
//   text    ( a b _ \n _ c 1
//   other   1 0 0 0  0 0 0 0      punctuation starts a word, and leads the letters after it
//   letter  0 1 1 0  0 0 1 0      starts unless a letter, a blank or such a prefix comes before
//   starts  1 0 0 1  0 1 0 1      blanks up to the last newline are one word
TM_DEVICE Starts word_starts(const Tile& tile, u32 i) {
    Window w = window_of(tile, i);
    const u64 newline = tile.window(kMaskNewline, i);
    bool hard = false;
#if TM_CASED
    const u64 upper = tile.window(kMaskUpper, i);
    const u64 lower = tile.window(kMaskLower, i);
    // Hard characters before the thread's own also leave its first ones undecided.
    hard = (tile.window(kMaskHard, i) & (kOwn | kOwn >> 16)) != 0;
#if TM_ISOLATE_HAN
    const u64 han = tile.window(kMaskHan, i);
    w.other &= ~han;
#endif
#endif
    const u64 absorbed = absorbed_tails(tile, i, w, newline, hard);
    w.other &= ~absorbed;
    // The first character of punctuation that is not after a blank: it may lead letters.
    const u64 other = w.other & ~w.after(w.other) & ~w.after(w.space);
    const u64 prefix = all_bytes_of(other, w.inside);
    const u64 after_letter = w.after(w.letter);
    u64 starts = other | (w.letter & ~after_letter & ~w.after((w.white & ~newline) | prefix));
    starts |= white_starts(tile, i, w, newline, absorbed);
    starts |= number_starts(tile, i, w, hard);
#if TM_CASED
    starts |= upper & ~w.inside & w.after(lower);
    starts |= capital_starts(tile, i, w, upper, lower, hard);
#if TM_ISOLATE_HAN
    starts |= han & ~w.inside & ~w.after(han);
#endif
#endif
#if TM_CONTRACTION != 0
    const u64 apostrophes = tile.window(kMaskApostrophe, i) & other;
#if TM_CASED
    starts = with_suffixes(tile, i, w, apostrophes & after_letter, starts, hard);
#else
    starts = with_contractions(tile, i, w, apostrophes, starts);
#endif
#endif
    return {starts, hard};
}

#endif
