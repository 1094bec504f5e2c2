// Where words begin, by bit algebra on windows of 64 bytes around the 32 of a thread. The CPU's
// twin is core/split/split-inl.h; here documents are edges in the midst of a window, and nothing is
// carried from the left: what a window cannot see is looked up by runs.h.
#pragma once

#include "runs.h"

// The window's own bytes are bits 16 to 47.
constexpr u64 kOwn = 0x0000FFFFFFFF0000ULL;

struct Window {
    u64 letter;
    u64 number;
    u64 white;
    u64 space;
    u64 inside;
    u64 other;
    u64 begins;  // of documents

    // Bytes directly behind those of a mask, in the same document.
    TM_DEVICE u64 after(u64 mask) const { return mask << 1 & ~begins; }
};

struct Starts {
    u64 bits;
    bool is_hard;  // the algebra does not reach: the DFA must say
};

TM_DEVICE Window window_of(const Tile& tile, u32 i) {
    Window w;
    w.letter = tile.window(kMaskLetter, i);
    w.number = tile.window(kMaskNumber, i);
    w.white = tile.window(kMaskWhite, i);
    w.space = tile.window(kMaskSpace, i);
    w.inside = tile.window(kMaskInside, i);
    w.other = ~(w.letter | w.number | w.white);
    const u32 own = tile.documents(i);
    w.begins =
        u64(funnel(own, tile.documents(i + 1), 16)) << 32 | funnel(tile.documents(i - 1), own, 16);
    return w;
}

// Last white-space character of each run that something else follows, at its first byte.
TM_DEVICE u64 last_of_white_runs(const Window& w, u64 ends_too) {
    return first_bytes_of(w.white & ~((w.white | ends_too | w.begins) >> 1), w.inside);
}

// Bytes of the contraction at an apostrophe, or 0; `edges` has bit i set where a document begins
// i + 1 bytes behind it.
TM_DEVICE u32 contraction_at(const Text& text, u32 position, u32 edges) {
    const u32 bytes = four_bytes(text.bytes, position);
    const u32 size = contraction_size(bytes >> 8 & 255, bytes >> 16 & 255, TM_CONTRACTION == 2,
                                      TM_FOLD_LONG_S != 0);
    return (edges & (size == 2 ? 1 : 3)) == 0 ? size : 0;
}

// Numbers of single bytes in groups of three, in a window that begins with the given count of them
// in an open group: every third one, as long as the three before it are of the same run.
TM_DEVICE u64 every_third(u64 seeds, u64 behind, bool is_open, u32 count) {
    if (is_open) {
        const u32 first = count == 0 ? 0 : 3 - count;
        const u64 upto = (u64{2} << first) - 2;
        seeds |= (behind & upto) == upto ? u64{1} << first : 0;
    }
    const u64 third = behind & behind << 1 & behind << 2;
    u64 starts = seeds;
    for (u64 next = seeds; next != 0;) {
        next = next << 3 & third;
        starts |= next;
    }
    return starts;
}

// The first characters of groups of at most TM_DIGITS numbers, or of runs. `hard`: the count of
// those before the window is not known.
TM_DEVICE u64 number_starts(const Tile& tile, u32 i, const Window& w, bool& hard) {
    const u64 leads = w.number & ~w.inside;
    const u64 behind = w.number & w.after(w.number);
    if (TM_DIGITS == 1 || leads == 0) {
        return leads;
    }
    if (TM_DIGITS == 0) {
        return leads & ~behind;
    }
    u32 count = 0;
    const bool is_open = (w.number & ~w.begins & 1) != 0;
    if (is_open) {
        const u32 before = digits_before(tile, i, TM_DIGITS + (TM_DIGITS == 0));
        hard |= before == kUnknown;
        count = before == kUnknown ? 0 : before;
    }
    const u64 seeds = leads & ~behind & ~u64(is_open);
    if (TM_DIGITS == 3 && (w.number & w.inside) == 0) {
        return every_third(seeds, behind, is_open, count);
    }
    return group_starts(leads, seeds, TM_DIGITS, count);
}

#if TM_FAMILY == 1

// Letters, numbers and punctuation, each with a blank at the most before them.
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

// Newlines directly behind punctuation, with all of the tail that follows.
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
    // Adding the first bit carries through the run; where another one meets the carry, it stays.
    return tail & (((tail + first) ^ tail) | first);
}

TM_DEVICE u64 white_starts(const Tile& tile, u32 i, const Window& w, u64 newline, u64 absorbed) {
    const u64 after_absorbed = w.after(absorbed);
    const u64 blanks = w.white & ~newline;
    u64 starts = w.white & ~absorbed & (~w.after(w.white) | after_absorbed);
    // Behind the last newline of a run.
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

// Alone in front: the contraction is a word, so another one begins behind it.
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

// Attached to the letters before it. Of two in a row only the first one is, so where the one
// before may be cut off by the window, the DFA must say.
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

#if TM_CASED

// Does a letter stand behind the capitals that begin at a bit of the window?
TM_DEVICE u32 letter_behind(const Tile& tile, u32 i, const Window& w, u64 upper, u32 at) {
    const u64 stops = (~upper | w.begins) & (~u64{1} << at);
    if (stops == 0) {
        return letter_behind(tile, i);
    }
    const u64 stop = stops & (0 - stops) & ~w.begins;
    return (tile.window(kMaskHard, i) & stop) != 0 ? kUnknown : (w.letter & stop) != 0;
}

// Does a lower-case letter of the same word stand before the caseless ones that end at a bit?
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

// Capitals behind a caseless letter. A word is capitals and caseless letters, then lower-case and
// caseless ones: where no letter follows the capitals, it gives them back, to end with the last
// caseless one. Where a letter follows they begin a word only if it is in its second part.
TM_DEVICE u64 capital_starts(const Tile& tile, u32 i, const Window& w, u64 upper, u64 lower,
                             bool& hard) {
    const u64 caseless = w.letter & ~upper & ~lower;
    u64 starts = 0;
    for (u64 rest = upper & w.after(caseless) & kOwn; rest != 0; rest &= rest - 1) {
        const u32 at = lowest_bit64(rest);
        const u32 behind = letter_behind(tile, i, w, upper, at);
        const u32 begins = behind == 1 ? lower_before(tile, i, w, caseless, lower, at) : behind ^ 1;
        hard |= begins > 1;
        starts |= u64(begins & 1) << at;
    }
    return starts;
}

#endif

// Letters with any one character before them that is no newline, letter or number.
TM_DEVICE Starts word_starts(const Tile& tile, u32 i) {
    Window w = window_of(tile, i);
    const u64 newline = tile.window(kMaskNewline, i);
    bool hard = false;
#if TM_CASED
    const u64 upper = tile.window(kMaskUpper, i);
    const u64 lower = tile.window(kMaskLower, i);
    // What hard characters before them are to the first ones, is not known either.
    hard = (tile.window(kMaskHard, i) & (kOwn | kOwn >> 16)) != 0;
#if TM_ISOLATE_HAN
    const u64 han = tile.window(kMaskHan, i);
    w.other &= ~han;
#endif
#endif
    const u64 absorbed = absorbed_tails(tile, i, w, newline, hard);
    w.other &= ~absorbed;
    // First character of punctuation that is not behind a blank: it may lead letters.
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
