// The raw bytes of JSONL in words of 32: which of them end strings, start escapes or end lines.
//
// Nothing here knows where strings begin. It need not: up to the first fault of a line, a backslash
// is inside of a string, and what comes after a fault does not matter.
//
//   raw       { " k " : " a \ " b \ u 0 0 6 1 " } .
//   stops     0 1 0 1 0 1 0 0 0 0 0 0 0 0 0 0 1 0 1      quotes that count, controls, bad escapes
//   escapes   0 0 0 0 0 0 0 1 0 0 1 0 0 0 0 0 0 0 0      backslashes that start one
//   newlines  0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1
#pragma once

#include "base/utf8.h"
#include "read/value.h"

#include "planes.h"
#include "text.h"

#ifndef TM_JSON_TILE
#define TM_JSON_TILE 8192  // bytes
#endif
#define TM_JSON_WORDS (TM_JSON_TILE / 32)  // a thread of a block has one

// Backslashes in a row that are counted; after more of them the chunk is left to the CPU.
constexpr u32 kLongestRun = 4096;
constexpr u32 kNowhere = ~0U;

// Bits of Jsonl::tile_flags.
constexpr u32 kTileMalformed = 1;  // some bytes are not UTF-8
constexpr u32 kTileLone = 2;       // half of a surrogate pair
constexpr u32 kTileUnsure = 4;     // too many backslashes in a row

using tokenmill::encode_char;
using tokenmill::is_surrogate;
using tokenmill::read::escape_of;
using tokenmill::read::hex_digit;
using tokenmill::read::is_high_half;
using tokenmill::read::is_low_half;
using tokenmill::read::pair_of;

struct RawMasks {
    u32 stops;
    u32 escapes;
    u32 newlines;
    u32 malformed;
    bool has_lone;
    bool is_unsure;
};

// The bits of a word's bytes that are before the end of the chunk.
TM_DEVICE u32 raw_valid(u32 size, u32 base) {
    const u32 left = size - base;
    return left < 32 ? (1U << left) - 1 : ~0U;
}

// The four digits after `\u`; above FFFF if one of them is not a digit.
TM_DEVICE u32 hex4(const u8* at) {
    const u32 a = hex_digit(at[0]);
    const u32 b = hex_digit(at[1]);
    const u32 c = hex_digit(at[2]);
    const u32 d = hex_digit(at[3]);
    return (a | b | c | d) > 15 ? 0x10000U : a << 12 | b << 8 | c << 4 | d;
}

// Backslashes directly before a place, at most kLongestRun.
TM_DEVICE u32 run_before(const u8* raw, u32 place) {
    u32 count = 0;
    while (count < place && count < kLongestRun && raw[place - 1 - count] == '\\') {
        ++count;
    }
    return count;
}

// Is there a valid escape at this backslash? A newline cannot be in one, so none leaves its line.
TM_DEVICE bool is_escape(const u8* at) {
    return at[1] == 'u' ? hex4(at + 2) < 0x10000U : escape_of(at[1]) != 0;
}

// Is there, right before this place, the escape of a first half of a pair?
TM_DEVICE bool follows_high_half(const u8* raw, u32 place) {
    return place >= 6 && raw[place - 6] == '\\' && raw[place - 5] == 'u' &&
           is_high_half(hex4(raw + place - 4)) && (run_before(raw, place - 6) & 1) == 0;
}

// What a valid escape stands for: a character of `size` bytes. The first half of a pair stands for
// the whole pair, the second half for nothing, and a lone half for U+FFFD.
struct Escaped {
    u32 code;
    u32 size;
    u32 raw_size;
    bool is_lone;
};

TM_DEVICE u32 utf8_size(u32 code) {
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TM_DEVICE Escaped escaped_at(const u8* raw, u32 place) {
    const u8* const at = raw + place;
    if (at[1] != 'u') {
        return {escape_of(at[1]), 1, 2, false};
    }
    const u32 code = hex4(at + 2);
    if (!is_surrogate(code)) {
        return {code, utf8_size(code), 6, false};
    }
    if (is_high_half(code)) {
        const u32 low = at[6] == '\\' && at[7] == 'u' ? hex4(at + 8) : 0;
        if (is_low_half(low)) {
            return {pair_of(code, low), 4, 6, false};
        }
    } else if (follows_high_half(raw, place)) {
        return {0, 0, 6, false};
    }
    return {0xFFFD, 3, 6, true};
}

// The backslashes of a word that start an escape: every one that is not escaped itself. `run` are
// the backslashes directly before the word.
TM_DEVICE u32 escape_starts(u32 backslashes, u32 run) {
    u32 starts = 0;
    for (u32 rest = backslashes & ~(run & 1); rest != 0;) {
        const u32 i = lowest_bit(rest);
        starts |= 1U << i;
        rest &= ~(3U << i);
    }
    return starts;
}

// Bytes after a word's start that belong to a well-formed character from before it, as a mask.
TM_DEVICE u32 bytes_of_character_before(const u8* raw, u32 base) {
    for (u32 back = 1; back <= 3 && back <= base; ++back) {
        const u32 byte = raw[base - back];
        if (!is_continuation(byte)) {
            const Char c = wide_char(four_bytes(raw, base - back), 0);
            return byte >= 0xC0 && c.is_valid && c.size > back ? (1U << (c.size - back)) - 1 : 0;
        }
    }
    return 0;
}

// Bytes at which the text stops being UTF-8, if none did before in the same line: a first byte
// whose character is not whole, or a later byte without a first one.
TM_DEVICE u32 malformed_bytes(const u8* raw, u32 base, u32 leads, u32 inner) {
    u32 expected = bytes_of_character_before(raw, base);
    u32 malformed = 0;
    for (; leads != 0; leads &= leads - 1) {
        const u32 i = lowest_bit(leads);
        const Char c = wide_char(four_bytes(raw, base + i), 0);
        if (c.is_valid) {
            expected |= ((1U << c.size) - 2) << i;
        } else {
            malformed |= 1U << i;
        }
    }
    return malformed | (inner & ~expected);
}

// Adds the escapes of a word: where they start, and which of them are not valid.
TM_DEVICE void add_escapes(const u8* raw, u32 base, u32 backslashes, u32 quotes, RawMasks& m) {
    const u32 run = base == 0 ? 0 : run_before(raw, base);
    m.is_unsure = run == kLongestRun;
    m.escapes = escape_starts(backslashes, run);
    m.stops |= quotes & ~(m.escapes << 1 | (run & 1));
    for (u32 rest = m.escapes; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        if (!is_escape(raw + base + i)) {
            m.stops |= 1U << i;
        } else if (raw[base + i + 1] == 'u') {
            m.has_lone |= escaped_at(raw, base + i).is_lone;
        }
    }
}

TM_DEVICE RawMasks raw_masks(const u8* raw, u32 size, u32 base) {
    const Planes planes = planes_of(read_bytes(raw, int(base >> 5)));
    const u32* const b = planes.of;
    const u32 valid = raw_valid(size, base);
    const u32 controls = ~(b[7] | b[6] | b[5]) & valid;                                // 000_____
    const u32 quotes = ~(b[7] | b[6] | b[4] | b[3] | b[2] | b[0]) & b[5] & b[1];       // 00100010
    const u32 backslashes = ~(b[7] | b[5] | b[1] | b[0]) & b[6] & b[4] & b[3] & b[2];  // 01011100
    RawMasks m = {};
    m.newlines = controls & ~(b[4] | b[2] | b[0]) & b[3] & b[1];  // 00001010
    m.stops = controls;
    if ((backslashes & valid) != 0 || (base != 0 && raw[base - 1] == '\\')) {
        add_escapes(raw, base, backslashes & valid, quotes & valid, m);
    } else {
        m.stops |= quotes & valid;
    }
    if ((b[7] & valid) != 0) {
        m.malformed = malformed_bytes(raw, base, b[7] & b[6] & valid, b[7] & ~b[6] & valid);
    }
    return m;
}
