// The text of a word after the normalizer, byte by byte: what each character becomes alone.
//
// rewrites[code point]:
//   0                    it stays as it is
//   0x00.. to 0xBF......  up to four bytes, the first one lowest: one character
//   0xFD000000           white space: no byte of a word
//   0xFE000000           it vanishes
//   0xFF << 24 | size << 20 | place   bytes of rewrite_bytes
#pragma once

#include "base/utf8.h"

constexpr u32 kWhiteSpace = 0xFD000000u;
constexpr u32 kVanishes = 0xFE000000u;
constexpr u32 kStored = 0xFF000000u;

// A place between the bytes of a normalized word: in the bytes that the character at `at` becomes.
struct WordCursor {
    u32 at;     // of the next character of the word
    u32 bytes;  // left of the one before: the next one lowest
    u32 place;  // or in rewrite_bytes
    u32 size;   // bytes left; 0: the next character comes
    bool is_stored;
};

struct WordText {
    const u32* rewrites;
    const u8* stored;
    const u8* text;
    u32 begin;
    u32 size;

    TM_DEVICE WordCursor start() const { return {0, 0, 0, 0, false}; }
    // With one more byte before the word.
    TM_DEVICE WordCursor start_with(u32 byte) const { return {0, byte, 0, 1, false}; }

    // Is there white space? Only for words of nothing else.
    TM_DEVICE bool has_blank() const {
        for (u32 at = 0; at < size; ++at) {
            const u32 four = text_word(text, begin + at);
            const u32 wide = wide_of(four);
            if (read_table(rewrites + code_of(four, wide)) == kWhiteSpace) {
                return true;
            }
            at += wide - 1;
        }
        return false;
    }

    // The next character that does not vanish. False at the end of the word.
    TM_DEVICE bool load(WordCursor& cursor) const {
        while (cursor.size == 0 && cursor.at < size) {
            const u32 four = text_word(text, begin + cursor.at);
            const u32 wide = wide_of(four);
            const u32 whole = wide < size - cursor.at ? wide : size - cursor.at;
            // Of a malformed character at the end, the rest is not in the word.
            const u32 rewrite = whole < wide ? 0 : read_table(rewrites + code_of(four, wide));
            cursor.at += whole;
            cursor.is_stored = rewrite >= kStored;
            cursor.bytes = rewrite == 0 ? four : rewrite;
            cursor.size = rewrite == 0 ? whole : size_of(rewrite);
            cursor.place = rewrite & 0xFFFFF;
        }
        return cursor.size != 0;
    }

    // The next byte; load() must have returned true.
    TM_DEVICE u32 next(WordCursor& cursor) const {
        const u32 byte = cursor.is_stored ? u32(stored[cursor.place]) : cursor.bytes & 255;
        cursor.bytes >>= 8;
        cursor.place += 1;
        cursor.size -= 1;
        return byte;
    }

    // Bytes of the character that starts with the lowest byte.
    TM_DEVICE static u32 wide_of(u32 four) {
        const u32 lead = four & 255;
        return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }

    TM_DEVICE static u32 code_of(u32 four, u32 wide) {
        const u32 a = four >> 8 & 63;
        const u32 b = four >> 16 & 63;
        const u32 c = four >> 24 & 63;
        const u32 code = wide == 1   ? four & 127
                         : wide == 2 ? (four & 31) << 6 | a
                         : wide == 3 ? (four & 15) << 12 | a << 6 | b
                                     : (four & 7) << 18 | a << 12 | b << 6 | c;
        return code < 0x110000 ? code : 0;  // malformed: the CPU encodes its document
    }

    TM_DEVICE static u32 size_of(u32 rewrite) {
        if (rewrite >= kStored) {
            return rewrite >> 20 & 15;
        }
        if (rewrite >= kWhiteSpace) {
            return 0;
        }
        return rewrite < 0x100 ? 1 : rewrite < 0x10000 ? 2 : rewrite < 0x1000000 ? 3 : 4;
    }
};

TM_DEVICE WordText word_text(const Tables* tables, const Batch* batch, uint4 miss) {
    return {tables->rewrites, tables->rewrite_bytes, batch->text, miss.x, miss_size(miss)};
}
