// The text of a batch: its bytes, its documents and its characters, which may be malformed.
#pragma once

#include "base/utf8.h"
#include "flags.h"

using tokenmill::is_continuation;

// The farthest that anything is looked for beyond a tile: longer runs go to the CPU.
#define TM_FARTHEST 65536

struct Text {
    const u8* bytes;
    const u32* doc_bits;  // from the word of position 0
    u32 size;
};

TM_DEVICE Text text_of(const Batch* batch) {
    return {global_memory(batch->text), global_memory(batch->doc_bits + 1), u32(batch->size)};
}

// Bits of the documents that start in the 32 bytes of a word; the end of the text counts as one.
TM_DEVICE u32 document_word(const Text& text, int word) {
    const u32 end = word == int(text.size >> 5) ? 1U << (text.size & 31) : 0;
    return text.doc_bits[word] | end;
}

TM_DEVICE bool begins_document(const Text& text, u32 position) {
    return position == 0 || position >= text.size ||
           (text.doc_bits[position >> 5] >> (position & 31) & 1) != 0;
}

// Four bytes from any position of the text, the first one lowest. Up to four bytes after the text
// may be read.
TM_DEVICE u32 four_bytes(const u8* text, u32 position) {
    const u32* const words = (const u32*)text + (position >> 2);
    return funnel(words[0], words[1], (position & 3) * 8);
}

TM_DEVICE u32 bits_above(u32 i) {
    return ~1U << i;
}

// Flags the documents of the positions `first` + i for every bit i.
TM_DEVICE void flag_documents(const Batch* batch, const Text& text, u32 first, u32 bits,
                              u32 reason) {
    while (bits != 0) {
        const u32 i = lowest_bit(bits);
        leave_document_at(batch, first + i, reason);
        const u32 later = document_word(text, int(first >> 5)) & bits_above(i);
        bits = later == 0 ? 0 : bits & ~((later & (0 - later)) - 1);  // from the next document on
    }
}

struct Char {
    u32 code;
    u32 size;
    bool is_valid;
};

// The character of two to four bytes that starts with the lowest byte; bit i of `edges` is set if a
// document starts i + 1 bytes after that. base/utf8.h decodes too, but trusts its text: this one
// checks, and reads no byte of the next document.
TM_DEVICE Char wide_char(u32 bytes, u32 edges) {
    const u32 lead = bytes & 255;
    const u32 a = bytes >> 8 & 63;
    const u32 b = bytes >> 16 & 63;
    const u32 c = bytes >> 24 & 63;
    if (lead < 0xE0) {
        const bool valid = lead >= 0xC2 && (bytes & 0xC000) == 0x8000 && (edges & 1) == 0;
        return {(lead & 31) << 6 | a, 2, valid};
    }
    if (lead < 0xF0) {
        const u32 code = (lead & 15) << 12 | a << 6 | b;
        const bool valid = code >= 0x800 && code - 0xD800 >= 0x800 && (edges & 3) == 0 &&
                           (bytes & 0xC0C000) == 0x808000;
        return {code, 3, valid};
    }
    const u32 code = (lead & 7) << 18 | a << 12 | b << 6 | c;
    const bool valid = lead < 0xF8 && code - 0x10000 < 0x100000 && (edges & 7) == 0 &&
                       (bytes & 0xC0C0C000) == 0x80808000;
    return {code, 4, valid};
}

// The character at any position of the text. A malformed one has one byte, and its value does not
// matter: the CPU encodes its document. It never reaches into the next document.
TM_DEVICE Char char_at(const Text& text, u32 position) {
    const u32 lead = text.bytes[position];
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const int word = int(position >> 5);
    const u64 edges = u64(document_word(text, word + 1)) << 32 | document_word(text, word);
    const u32 after = u32(edges >> (position & 31) >> 1);
    const Char found = wide_char(four_bytes(text.bytes, position), after);
    return lead >= 0xC0 && found.is_valid ? found : Char{0xFFFD, 1, false};
}

// The first byte of the character before `position`, which must not be the start of a document.
TM_DEVICE u32 char_before(const Text& text, u32 position) {
    u32 at = position - 1;
    for (u32 i = 0; i < 3 && is_continuation(text.bytes[at]) && !begins_document(text, at); ++i) {
        --at;
    }
    return at;
}

// The class of a code point: a table of 65536 bytes, and pages of 256 above that. The same layout
// as ClassTable of core/split, with pointers to global memory.
TM_DEVICE u32 class_of(const u8* basic, const u16* page_of, const u8* pages, u32 code) {
    if (code < 0x10000) {
        return global_memory(basic)[code];
    }
    const u32 above = code - 0x10000;
    return global_memory(pages)[u32(global_memory(page_of)[above >> 8]) << 8 | (above & 255)];
}

// The 32 bytes of a word of the text.
struct Bytes32 {
    uint4 low;
    uint4 high;
};

TM_DEVICE Bytes32 read_bytes(const u8* text, int word) {
    const uint4* const at = (const uint4*)text + 2 * word;
    return {read_once(at), read_once(at + 1)};
}

// Moves the high bits of four bytes to the lowest bits of a mask.
//   high_bits   d0000000 c0000000 b0000000 a0000000
//   product     dcba.... (bits 31..28)      mask   .... -> ....dcba
TM_DEVICE u32 push_four(u32 mask, u32 high_bits) {
    return funnel(high_bits * 0x00204081U, mask, 28);
}

#define TM_EACH_FOUR_BACKWARDS(b, CALL) \
    CALL(b.high.w)                      \
    CALL(b.high.z)                      \
    CALL(b.high.y) CALL(b.high.x) CALL(b.low.w) CALL(b.low.z) CALL(b.low.y) CALL(b.low.x)
