// base/utf8: characters <-> bytes, for text that is known to be well-formed UTF-8, and what makes
// it so. Every room and the device kernels take these facts from here. Freestanding, no table.
//
//   bytes                      first byte   code point
//   0aaaaaaa                   00..7F       0..7F
//   110aaaaa 10bbbbbb          C2..DF       80..7FF
//   1110aaaa 10bbbbbb x 2      E0..EF       800..FFFF without D800..DFFF
//   11110aaa 10bbbbbb x 3      F0..F4       10000..10FFFF
#pragma once

#include "base/device.h"

namespace tokenmill {

// A byte after the first one of its character. Only the low eight bits of `byte` count.
TOKENMILL_HD bool is_continuation(TmU32 byte) {
    return (byte & 0xC0) == 0x80;
}

// The first byte of a character of three.
TOKENMILL_HD bool is_lead3(TmU32 byte) {
    return (byte & 0xF0) == 0xE0;
}

// Code points that no well-formed text holds: the halves of a UTF-16 pair.
TOKENMILL_HD bool is_surrogate(TmU32 code) {
    return code >= 0xD800 && code < 0xE000;
}

// Bytes of the character that starts with `lead`.
TOKENMILL_HD TmU32 char_size(TmU8 lead) {
    return lead < 0x80 ? 1U : lead < 0xE0 ? 2U : lead < 0xF0 ? 3U : 4U;
}

// Does a character of several bytes start with `lead`?
TOKENMILL_HD bool is_lead(TmU8 lead) {
    return lead >= 0xC2 && lead <= 0xF4;
}
// May `second` follow it? Some leads allow fewer bytes: other characters are surrogates, beyond
// 10FFFF, or have a shorter spelling.
TOKENMILL_HD bool may_follow(TmU8 lead, TmU8 second) {
    const TmU8 least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const TmU8 most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= least && second <= most;
}

TOKENMILL_HD TmU32 decode2(const TmU8* at) {
    return (at[0] & 31U) << 6 | (at[1] & 63U);
}
TOKENMILL_HD TmU32 decode3(const TmU8* at) {
    return (at[0] & 15U) << 12 | (at[1] & 63U) << 6 | (at[2] & 63U);
}
TOKENMILL_HD TmU32 decode4(const TmU8* at) {
    return (at[0] & 7U) << 18 | (at[1] & 63U) << 12 | (at[2] & 63U) << 6 | (at[3] & 63U);
}

// The code point of the character of `size` bytes at `at`.
TOKENMILL_HD TmU32 decode_char(const TmU8* at, TmU32 size) {
    switch (size) {
        case 1:
            return at[0];
        case 2:
            return decode2(at);
        case 3:
            return decode3(at);
        default:
            return decode4(at);
    }
}

// Writes a code point of three bytes.
TOKENMILL_HD void encode3(TmU32 code, TmU8* out) {
    out[0] = TmU8(0xE0 | code >> 12);
    out[1] = TmU8(0x80 | (code >> 6 & 63));
    out[2] = TmU8(0x80 | (code & 63));
}

// Writes `code` and returns its size; `out` has room for four bytes. The caller handles surrogates.
TOKENMILL_HD TmU32 encode_char(TmU32 code, TmU8* out) {
    if (code < 0x80) {
        out[0] = TmU8(code);
        return 1;
    }
    if (code < 0x800) {
        out[0] = TmU8(0xC0 | code >> 6);
        out[1] = TmU8(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        encode3(code, out);
        return 3;
    }
    out[0] = TmU8(0xF0 | code >> 18);
    out[1] = TmU8(0x80 | (code >> 12 & 63));
    out[2] = TmU8(0x80 | (code >> 6 & 63));
    out[3] = TmU8(0x80 | (code & 63));
    return 4;
}

// First byte of the character that ends before `at`; there must be one.
TOKENMILL_HD const TmU8* previous_char(const TmU8* at) {
    do {
        --at;
    } while (is_continuation(*at));
    return at;
}

TOKENMILL_HD TmU64 count_chars(const TmU8* text, TmU64 size) {
    TmU64 count = 0;
    for (TmU64 i = 0; i < size; ++i) {
        count += is_continuation(text[i]) ? 0U : 1U;
    }
    return count;
}

}  // namespace tokenmill
