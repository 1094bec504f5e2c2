// Windows of 64 bytes around the 32 of a thread, and the steps that several families take on them.
//
//   bit      0 .. 15   16 ........ 47   48 .. 63
//   bytes    before    the thread's     after
//
// The bytes on both sides are context: only bits 16 to 47 of a result count.
#pragma once

#include "runs.h"

// The bits of the thread's own bytes.
constexpr u64 kOwn = 0x0000FFFFFFFF0000ULL;

struct Window {
    u64 letter;
    u64 number;
    u64 white;
    u64 space;
    u64 inside;
    u64 other;
    u64 begins;  // first bytes of documents

    // Bytes directly after those of a mask, in the same document.
    //   mask     1 0 1 0        begins  0 0 0 1
    //   after    0 1 0 0
    TM_DEVICE u64 after(u64 mask) const { return mask << 1 & ~begins; }
};

struct Starts {
    u64 bits;
    bool is_hard;  // the window does not decide: the DFA must scan
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

// The last white-space character of each run that something else follows, at its first byte: that
// character goes to the next word.
//   text    a _ _ b
//   white   0 1 1 0
//   last    0 0 1 0
TM_DEVICE u64 last_of_white_runs(const Window& w, u64 ends_too) {
    return first_bytes_of(w.white & ~((w.white | ends_too | w.begins) >> 1), w.inside);
}

// Bytes of the contraction at an apostrophe, or 0; bit i of `edges` is set if a document starts
// i + 1 bytes after it.
TM_DEVICE u32 contraction_at(const Text& text, u32 position, u32 edges) {
    const u32 bytes = four_bytes(text.bytes, position);
    const u32 size = contraction_size(bytes >> 8 & 255, bytes >> 16 & 255, TM_CONTRACTION == 2,
                                      TM_FOLD_LONG_S != 0);
    return (edges & (size == 2 ? 1 : 3)) == 0 ? size : 0;
}

// Groups of three numbers of a byte each: every third one starts a group, as long as the three
// before it are in the same run. If `is_open`, the window starts inside of a group that has `count`
// so far.
//   text        1 2 3 4 5 . 6 7        (seeds: first of each run)
//   seeds       1 0 0 0 0 0 1 0
//   follows     0 1 1 1 1 0 0 1        (a number right after a number)
//   third       0 0 0 1 1 0 0 0        (follows, and so do the two before)
//   starts      1 0 0 1 0 0 1 0        (seeds, moved by three while `third` holds)
TM_DEVICE u64 every_third(u64 seeds, u64 follows, bool is_open, u32 count) {
    if (is_open) {
        const u32 first = count == 0 ? 0 : 3 - count;
        const u64 upto = (u64{2} << first) - 2;
        seeds |= (follows & upto) == upto ? u64{1} << first : 0;
    }
    const u64 third = follows & follows << 1 & follows << 2;
    u64 starts = seeds;
    for (u64 next = seeds; next != 0;) {
        next = next << 3 & third;
        starts |= next;
    }
    return starts;
}

// The first characters of groups of at most TM_DIGITS numbers, or of runs if there are no groups.
// `hard`: the count before the window is not known.
TM_DEVICE u64 number_starts(const Tile& tile, u32 i, const Window& w, bool& hard) {
    const u64 leads = w.number & ~w.inside;
    const u64 follows = w.number & w.after(w.number);
    if (TM_DIGITS == 1 || leads == 0) {
        return leads;
    }
    if (TM_DIGITS == 0) {
        return leads & ~follows;
    }
    u32 count = 0;
    const bool is_open = (w.number & ~w.begins & 1) != 0;
    if (is_open) {
        const u32 before = digits_before(tile, i, TM_DIGITS + (TM_DIGITS == 0));
        hard |= before == kUnknown;
        count = before == kUnknown ? 0 : before;
    }
    const u64 seeds = leads & ~follows & ~u64(is_open);
    if (TM_DIGITS == 3 && (w.number & w.inside) == 0) {
        return every_third(seeds, follows, is_open, count);
    }
    return group_starts(leads, seeds, TM_DIGITS, count);
}
