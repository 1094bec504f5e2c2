// bounds_classes: where words start by the classes of characters alone, after the normalizer. Each
// character is a word of its own, or belongs to words, is white space, or vanishes. White space has
// no ids; the last character of its run goes to the next word, because most words have one blank.
#pragma once

#if TM_LOOKS_UP

#include "bounds.h"

// The class of a code point: bits of rule_basic. None of them: a part of words.
constexpr u32 kClassWhite = 1;
constexpr u32 kClassAlone = 2;
constexpr u32 kClassGone = 4;    // the normalizer removes it
constexpr u32 kClassUnsafe = 8;  // what it becomes depends on its neighbours, or is too much
constexpr u32 kClassMark = 16;   // the same, unless the character before has three bytes or more

// The most characters that are looked at to find what is before those that vanish.
constexpr u32 kMostGone = 16;

struct AsciiClasses {
    TM_ALIGN16 u8 of[128];
};

// A bit for each of 32 bytes; those of a character are equal.
struct ClassMasks {
    u32 white;
    u32 alone;
    u32 gone;
    u32 unsafe;
    u32 inside;
};

TM_DEVICE void add_class(u32 bits, u32 mask, ClassMasks& m) {
    m.white |= when(bits, mask);
    m.alone |= when(bits >> 1, mask);
    m.gone |= when(bits >> 2, mask);
    m.unsafe |= when(bits >> 3, mask);
}

TM_DEVICE void add_ascii(const u8* classes, u32 four, u32 at, ClassMasks& m) {
    TM_UNROLL
    for (u32 k = 0; k < 4; ++k) {
        const u32 byte = four >> 8 * k & 255;
        const u32 bits = byte < 0x80 ? classes[byte] : 0;
        m.white |= (bits & 1) << (at + k);
        m.alone |= (bits >> 1 & 1) << (at + k);
        m.gone |= (bits >> 2 & 1) << (at + k);
        m.unsafe |= (bits >> 3) << (at + k);
    }
}

// Does the character before have three bytes or more?
TM_DEVICE bool is_after_long(const Text& text, u32 position) {
    return !begins_document(text, position) && is_continuation(text.bytes[int(position) - 1]) &&
           is_continuation(text.bytes[int(position) - 2]);
}

// The classes of wide characters. `leads` are their first bytes; returns malformed bytes.
TM_DEVICE u32 add_wide(const Tables* tables, const Text& text, int word, u32 head, u32 leads,
                       ClassMasks& m) {
    const u32 base = u32(word) * 32;
    const u32 begins = document_word(text, word);
    const u64 edges = u64(document_word(text, word + 1)) << 32 | begins;
    const Incoming before = incoming_char(text, word, begins, head);
    u32 expected = before.end > 0 ? (1U << before.end) - 1 : 0;
    u32 malformed = 0;
    if (expected != 0) {
        add_class(rule_class(tables, before.c.code), expected, m);
    }
    for (; leads != 0; leads &= leads - 1) {
        const u32 i = lowest_bit(leads);
        const Char c = wide_char(four_bytes(text.bytes, base + i), u32(edges >> i >> 1));
        if (!c.is_valid) {
            malformed |= 1U << i;
            continue;
        }
        const u32 mask = ((1U << c.size) - 1) << i;
        expected |= mask & ~(1U << i);
        const u32 bits = rule_class(tables, c.code);
        add_class(bits, mask, m);
        if ((bits & kClassMark) != 0 && !is_after_long(text, base + i)) {
            m.unsafe |= 1U << i;
        }
    }
    return malformed | (m.inside & ~expected);
}

// The class of the character before a position. Characters that vanish are looked through; what
// comes before a document does not matter, because it starts a word.
TM_DEVICE u32 class_before(const Tables* tables, const Batch* batch, const Text& text,
                           u32 position) {
    u32 at = position;
    for (u32 i = 0; i < kMostGone; ++i) {
        if (begins_document(text, at)) {
            return kClassWhite;
        }
        at = char_before(text, at);
        const u32 bits = rule_class(tables, char_at(text, at).code);
        if ((bits & kClassGone) == 0) {
            return bits;
        }
    }
    leave_document_at(batch, position - 1, kNoSync);
    return kClassWhite;
}

// Characters that vanish count as the one before them.
//   text    a . . b _ . c      . vanishes
//   white   0 0 0 0 1 0 0  ->  0 0 0 0 1 1 0
TM_DEVICE void fill_gone(u32 before, ClassMasks& m) {
    for (u32 rest = m.gone; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        const u32 white = i == 0 ? before & 1 : m.white >> (i - 1) & 1;
        const u32 alone = i == 0 ? before >> 1 & 1 : m.alone >> (i - 1) & 1;
        m.white |= white << i;
        m.alone |= alone << i;
    }
}

// The first bytes of words.
//   text     a b _ _ _ c . d        . is alone
//   white    0 0 1 1 1 0 0 0
//   starts   1 0 1 0 1 0 1 1        the run of blanks without its last one, then "_c", ".", "d"
TM_DEVICE u32 class_starts(const ClassMasks& m, u32 before, bool white_after) {
    const u32 part = ~(m.white | m.alone);
    const u32 after_white = m.white << 1 | (before & kClassWhite);
    const u32 after_part = part << 1 | u32((before & (kClassWhite | kClassAlone)) == 0);
    const u32 before_white = m.white >> 1 | u32(white_after) << 31;
    const u32 starts = (part & ~(after_part | after_white)) | (m.alone & ~after_white) |
                       (m.white & ~(after_white & before_white));
    return starts & ~(m.gone | m.inside);
}

template <bool kFirst>
TM_DEVICE u32 starts_of_word(const TileJob<kFirst>& job, int word, const u8* ascii) {
    const Tables* const tables = job.tables;
    const Batch* const batch = job.batch;
    const Text& text = job.text;
    const u32 base = u32(word) * 32;
    const u32 left = text.size - base;
    const u32 valid = left < 32 ? (1U << left) - 1 : ~0U;
    const Bytes32 bytes = read_bytes(text.bytes, word);
    Findings found = {};
    ClassMasks m = {};
    add_ascii(ascii, bytes.low.x, 0, m);
    add_ascii(ascii, bytes.low.y, 4, m);
    add_ascii(ascii, bytes.low.z, 8, m);
    add_ascii(ascii, bytes.low.w, 12, m);
    add_ascii(ascii, bytes.high.x, 16, m);
    add_ascii(ascii, bytes.high.y, 20, m);
    add_ascii(ascii, bytes.high.z, 24, m);
    add_ascii(ascii, bytes.high.w, 28, m);
    const Planes planes = planes_of(bytes);
    const u32 is_wide = planes.of[7] & valid;
    if (is_wide != 0) {
        m.inside = is_wide & ~planes.of[6];
        found.malformed = add_wide(tables, text, word, bytes.low.x, is_wide & planes.of[6], m);
    }
    const u32 last = text.bytes[int(base) - 1];
    const bool is_quick = last < 0x80 && (ascii[last & 127] & kClassGone) == 0;
    const u32 before = is_quick ? ascii[last & 127] : class_before(tables, batch, text, base);
    if (m.gone != 0) {
        fill_gone(before, m);
    }
    bool white_after = false;
    if (left > 32) {
        const u32 next = text.bytes[base + 32];
        // Inside of a character that started before: the same as that one.
        white_after = is_continuation(u8(next))
                          ? m.white >> 31 != 0
                          : (rule_class(tables, char_at(text, base + 32).code) & kClassWhite) != 0;
    }
    job.check(word, bytes, found);
    if (kFirst && (m.unsafe & valid) != 0) {
        flag_documents(batch, text, base, m.unsafe & valid, kNotNormalized);
    }
    return class_starts(m, before, white_after);
}

// A block owns a tile, a thread 32 bytes of it. The first barrier makes the classes of ASCII
// visible, the second one the starts; write_tile has one more. Threads write disjoint words.
template <bool kFirst>
TM_DEVICE void classes_of_tile(const TileJob<kFirst>& job, AsciiClasses& ascii, TileStarts& out) {
    TM_THREADS(t, TM_TILE_WORDS) {
        if (t == 0) {
            out.count = 0;
        }
        for (u32 i = t; i < 128; i += TM_TILE_WORDS) {
            ascii.of[i] = global_memory(job.tables->rule_basic)[i];
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_TILE_WORDS) {
        const int word = int(job.first_word() + t);
        const bool is_text = u32(word) * 32 < job.text.size;
        out.starts[t] = is_text ? starts_of_word(job, word, ascii.of) : 0;
        out.cuts[t] = 0;
    }
    TM_SYNC();
    write_tile(job, out);
}

// bounds_classes: text -> start_bits, tile_words, doc_flags, added_tiles.
TM_KERNEL(TM_TILE_WORDS) bounds_classes(const Tables* tables, const Batch* batch) {
    TM_SHARED TileStarts out;
    TM_SHARED AsciiClasses ascii;
    if (TM_BLOCK >= batch->tiles) {
        return;
    }
    classes_of_tile<true>({tables, batch, text_of(batch), TM_BLOCK}, ascii, out);
}

#endif
