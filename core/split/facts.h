// split/facts: what the CPU scanners and the device kernels must agree on, written once: the
// families of rules, the bits of the class tables, the contractions, and the mask steps that both
// take. Their loops differ (a block carries bits to the next one, a device window does not).
// Freestanding.
#pragma once

#include "base/device.h"

namespace tokenmill::split {

// How a word starts: after at most one blank; after any one character; the latter, and words also
// end where lower case turns to upper; or wherever two neighbours are not joined.
enum class Family : TmU32 {
    None = 0,
    BlankPrefix = 1,
    AnyPrefix = 2,
    Cased = 3,
    Adjacent = 4,
};
enum class Contraction : TmU32 { None = 0, Exact = 1, IgnoreCase = 2 };
// What punctuation takes along after it.
enum class NewlineTail : TmU32 { None = 0, CrLf = 1, CrLfSlash = 2 };

// Bits of a rule's class table.
enum ClassBit : TmU32 {
    kLetter = 1,
    kNumber = 2,
    kWhite = 4,
    kMark = 8,
    kUpper = 16,
    kLower = 32,
    kBothCases = 64,
    kHan = 128,
};

// Han numbers, radicals and marks. They are not letters, so the mask algebra does not cover them:
// the DFA scans the few texts that hold them.
TOKENMILL_HD bool is_odd_han(TmU32 code) {
    return code < 0x3400 || (code >= 0x16FE0 && code < 0x17000);
}

// Transitions of a DFA: the next state, and whether a match ends before this character.
constexpr TmU32 kMatchHere = 0x8000;
constexpr TmU32 kStateMask = 0x7FFF;
constexpr TmU32 kDeadState = 0;
constexpr TmU32 kStartState = 1;

// Bytes of the contraction that an apostrophe and these two bytes make, or 0. With `fold_case`
// capitals count too; with `fold_long_s` U+017F is an s then.
//   's 't 'm 'd -> 2    're 've 'll -> 3
TOKENMILL_HD TmU32 contraction_size(TmU32 first, TmU32 second, bool fold_case, bool fold_long_s) {
    const TmU32 case_bit = fold_case ? 0x20 : 0;
    const TmU32 a = first | case_bit;
    const TmU32 b = second | case_bit;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') {
        return 2;
    }
    const bool is_long_s = fold_case && fold_long_s && first == 0xC5 && second == 0xBF;
    const bool is_long = ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l');
    return is_long || is_long_s ? 3 : 0;
}

// What ends a run of blanks that follows a newline.
enum RunEnd : TmU32 { kRunText, kRunNewline, kRunEndOfText };

// Do blanks after a newline start a word? Not if another newline follows, which takes them along.
TOKENMILL_HD bool starts_after_newline(TmU32 run_end, bool keeps_end_run) {
    return run_end == kRunText || (run_end == kRunEndOfText && !keeps_end_run);
}

// Last bytes of white-space characters -> their first bytes: at most three bytes are in one.
//   inside  0 1 1 0
//   bits    0 0 1 1
//   result  1 0 0 1
TOKENMILL_HD TmU64 first_bytes_of(TmU64 bits, TmU64 inside) {
    if ((bits & inside) != 0) {
        bits = (bits & ~inside) | (bits & inside) >> 1;
        bits = (bits & ~inside) | (bits & inside) >> 1;
    }
    return bits;
}

// First bytes of characters -> all of their bytes.
//   inside  0 1 1 0
//   bits    1 0 0 1
//   result  1 1 1 1
TOKENMILL_HD TmU64 all_bytes_of(TmU64 bits, TmU64 inside) {
    if (inside != 0) {
        bits |= bits << 1 & inside;
        bits |= bits << 1 & inside;
        bits |= bits << 1 & inside;
    }
    return bits;
}

// Starts of the groups of `group` that runs of numbers fall into. `count` is how many the open
// group has so far: in, before the first number; out, after the last.
//   text        1 2 3 4 5 _ 6
//   run_starts  1 0 0 0 0 0 1
//   group 3     1 0 0 1 0 0 1    count becomes 1
TOKENMILL_HD TmU64 group_starts(TmU64 numbers, TmU64 run_starts, TmU32 group, TmU32& count) {
    TmU64 starts = 0;
    for (TmU64 rest = numbers; rest != 0; rest &= rest - 1) {
        const TmU64 bit = rest & (0 - rest);
        count = (run_starts & bit) != 0 ? 0 : count;
        starts |= count == 0 ? bit : 0;
        count = count + 1 == group ? 0 : count + 1;
    }
    return starts;
}

}  // namespace tokenmill::split
