// The classes of the characters in 32 bytes as masks: a bit for each byte, and a character's bit on
// all of its bytes. Classes of single bytes come from planes of bits, those of wide characters from
// tables.
//   text     c a f [C3 A9] _ 4
//   letter   1 1 1  1  1   0 0
//   inside   0 0 0  0  1   0 0        bytes after the first of a character
//   number   0 0 0  0  0   0 1
#pragma once

#include "split/facts.h"
#include "vocab/junction.h"

#include "checks.h"
#include "planes.h"
#include "text.h"

#if TM_FAMILY == 3
#define TM_CASED 1
#else
#define TM_CASED 0
#endif

using namespace tokenmill::split;  // facts.h, shared with the CPU's scanners

// #if compares these by number.
static_assert(u32(Family::BlankPrefix) == 1 && u32(Family::AnyPrefix) == 2 &&
                  u32(Family::Cased) == 3 && u32(Contraction::IgnoreCase) == 2 &&
                  u32(NewlineTail::CrLfSlash) == 2,
              "numbers of TM_FAMILY, TM_CONTRACTION and TM_TAIL");

struct Masks {
    u32 letter;
    u32 number;
    u32 white;
    u32 newline;
    u32 space;
    u32 apostrophe;
    u32 inside;  // bytes of a character after its first
    u32 slash;
    // Of cased words only:
    u32 upper;
    u32 lower;
    u32 han;
    u32 hard;  // characters that the algebra does not cover
};

// What else is found in 32 bytes.
struct Findings {
    u32 malformed;
    u32 unsafe;
    u32 cuts;  // between characters of three bytes that no token has next to each other
};

// The classes of single bytes: b[k] is bit k of every byte.
//   bits 7..4   0x0_ control   0x2_ sign   0x3_ digits   0x4_ to 0x7_ letters, and more
TM_DEVICE void add_planes(const Planes& p, Masks& m) {
    const u32* const b = p.of;
    const u32 low = ~(b[7] | b[6]);            // below 0x40
    const u32 control = low & ~(b[5] | b[4]);  // below 0x10
    const u32 sign = low & b[5] & ~b[4];       // 0x20 to 0x2F
    const u32 not_zero = b[2] | b[1] | b[0];
    const u32 above_z = b[4] & b[3] & (b[2] | (b[1] & b[0]));
    const u32 space = sign & ~(b[3] | not_zero);
    m.letter = ~b[7] & b[6] & (b[4] | b[3] | not_zero) & ~above_z;
    m.number = low & b[5] & b[4] & ~(b[3] & (b[2] | b[1]));
    m.white = (control & b[3] & not_zero & ~(b[2] & b[1])) | space;
    m.space = space;
#if TM_CONTRACTION != 0
    m.apostrophe = sign & ~b[3] & b[2] & b[1] & b[0];
#endif
#if TM_FAMILY >= 2
    m.newline = control & b[3] & (b[2] ^ b[1]) & (b[2] ^ ~b[0]);
#endif
#if TM_CASED
    m.upper = m.letter & ~b[5];
#endif
#if TM_TAIL == 2
    m.slash = sign & b[3] & b[2] & b[1] & b[0];
#endif
}

TM_DEVICE u32 when(u32 bit, u32 mask) {
    return mask & (0 - (bit & 1));
}

TM_DEVICE u32 rule_class(const Tables* tables, u32 code) {
    return class_of(tables->rule_basic, tables->rule_page_of, tables->rule_pages, code);
}

// Marks, and Han characters that are not letters: which word they belong to depends on more than
// their neighbours.
TM_DEVICE bool is_hard(u32 bits, u32 code) {
    const bool odd_han = TM_ISOLATE_HAN != 0 && (bits & kHan) != 0 && is_odd_han(code);
    return (bits & kMark) != 0 || odd_han;
}

TM_DEVICE void add_char(u32 bits, u32 code, u32 mask, Masks& m) {
    m.letter |= when(bits, mask);
    m.number |= when(bits >> 1, mask);
    m.white |= when(bits >> 2, mask);
#if TM_CASED
    m.upper |= when(bits >> 4, mask);
    m.lower |= when(bits >> 5, mask);
#if TM_ISOLATE_HAN
    m.han |= when(bits >> 7, mask);
#endif
    m.hard |= is_hard(bits, code) ? mask : 0;
#else
    (void)code;
#endif
}

using tokenmill::vocab::JunctionFilter;

// The tables that almost every wide character needs; other pointers are read when needed.
struct Nearby {
    const u8* basic;
    JunctionFilter junctions;  // without the parts
};

TM_DEVICE Nearby nearby(const Tables* tables) {
    return {global_memory(tables->rule_basic),
            {global_memory(tables->junction_words), global_memory(tables->junction_flags), nullptr,
             TM_PARTS_MASK}};
}

TM_DEVICE u32 rule_class(const Tables* tables, const Nearby& near, u32 code) {
    return code < 0x10000 ? near.basic[code] : rule_class(tables, code);
}

TM_DEVICE bool are_joined(const Tables* tables, JunctionFilter filter, u32 left, u32 right) {
    if (filter.paired(left, right) != 0) {
        return true;
    }
    const u32 contexts = filter.flags[left] & (filter.flags[right] >> 4);
    if (contexts == 0) {
        return false;
    }
    filter.parts = (const TmU64*)global_memory(tables->junction_parts);
    return filter.joined_in_part(left, right, contexts);
}

// A wide character that starts before a word of 32 bytes and ends in it or right before it.
struct Incoming {
    Char c;
    int end;  // counted from the start of the word; below 0: there is none
};

// `head` are the first four bytes of the word.
TM_DEVICE Incoming incoming_char(const Text& text, int word, u32 begins, u32 head) {
    if (word == 0 || (begins & 1) != 0) {
        return {{}, -1};
    }
    const u32 tail = ((const u32*)text.bytes)[word * 8 - 1];
    const u32 edges = document_word(text, word - 1) >> 28 | begins << 4;
    u32 back = 1;  // bytes back to its first byte
    for (u32 k = 1; k < 4; ++k) {
        const bool is_inner = is_continuation(tail >> (32 - 8 * k)) && (edges >> (4 - k) & 1) == 0;
        back += back == k && is_inner ? 1 : 0;
    }
    const u32 bytes = funnel(tail, head, (4 - back) * 8);
    const Char c = wide_char(bytes, edges >> (5 - back));
    return {c, (bytes & 0xC0) == 0xC0 && c.is_valid ? int(c.size) - int(back) : -1};
}

#if TM_CASED

// Is there a letter before `position`, or before the marks there? At most 16 bytes are checked.
TM_DEVICE bool is_after_letter(const Tables* tables, const Text& text, u32 position) {
    for (u32 at = position; position - at < 16 && !begins_document(text, at);) {
        at = char_before(text, at);
        const u32 bits = rule_class(tables, char_at(text, at).code);
        if ((bits & (kLetter | kMark)) != kMark) {
            return (bits & kLetter) != 0;
        }
    }
    return false;
}

// A mark after a letter continues its word, like a caseless letter; elsewhere it depends on more.
// This is for the marks at the start of a word of 32 bytes, the first of them at `begin`.
TM_DEVICE void add_first_marks(const Tables* tables, const Text& text, u32 begin, u32 begins,
                               Masks& m) {
    const u32 marks = m.hard & ~m.han & ~begins;
    if ((marks & 1) != 0 && is_after_letter(tables, text, begin)) {
        const u32 first = marks & ~(marks + 1);
        m.letter |= first;
        m.hard &= ~first;
    }
}

#endif

// Walks the wide characters of a word: adds their classes (if there is a rule) and findings.
// `leads` are their first bytes, `m.inside` the others.
template <bool kHasRule>
TM_DEVICE void add_wide_chars(const Tables* tables, const Text& text, int word, u32 head, u32 leads,
                              Masks& m, Findings& found) {
    const u32 base = u32(word) * 32;
    const u32 begins = document_word(text, word);
    const u64 edges = u64(document_word(text, word + 1)) << 32 | begins;
    const Nearby near = nearby(tables);
    const Incoming before = incoming_char(text, word, begins, head);
    u32 expected = before.end > 0 ? (1U << before.end) - 1 : 0;  // later bytes of valid characters
    u32 previous = before.c.code;  // the previous character, if it has three bytes
    u32 previous_end = before.end >= 0 && before.c.size == 3 ? u32(before.end) : ~0U;
    if (kHasRule && expected != 0) {
        add_char(rule_class(tables, near, previous), previous, expected, m);
    }
    for (; leads != 0; leads &= leads - 1) {
        const u32 i = lowest_bit(leads);
        const Char c = wide_char(four_bytes(text.bytes, base + i), u32(edges >> i >> 1));
        if (!c.is_valid) {
            found.malformed |= 1U << i;
            continue;
        }
        const u32 mask = ((1U << c.size) - 1) << i;
        expected |= mask & ~(1U << i);
        if (kHasRule) {
            u32 bits = rule_class(tables, near, c.code);
#if TM_CASED
            const bool is_after = i != 0 && (m.letter & ~begins >> 1) >> (i - 1) & 1;
            bits = (bits & kMark) != 0 && is_after ? u32(kLetter) : bits;
#endif
            add_char(bits, c.code, mask, m);
        }
#if TM_NORMAL
        found.unsafe |= u32(is_unsafe(tables, c.code)) << i;
#endif
        if (c.size == 3) {
            const bool is_cut =
                previous_end == i && !are_joined(tables, near.junctions, previous, c.code);
            found.cuts |= u32(is_cut) << i;
            previous = c.code;
            previous_end = i + 3;
        }
    }
    found.malformed |= m.inside & ~expected;
#if TM_CASED
    if (kHasRule) {
        const u32 begin = before.end > 0 ? base + u32(before.end) - before.c.size : base;
        add_first_marks(tables, text, begin, begins, m);
    }
#endif
}

// The masks of a word of the text, and its findings.
template <bool kHasRule>
TM_DEVICE Masks word_masks(const Tables* tables, const Text& text, int word, const Bytes32& bytes,
                           Findings& found) {
    Masks m = {};
    const Planes planes = planes_of(bytes);
    const u32 is_wide = planes.of[7];
    const u32 is_lead = planes.of[6];
    if (kHasRule) {
        add_planes(planes, m);
    }
#if TM_CASED
    m.lower = m.letter & ~m.upper;
#endif
    if (is_wide != 0) {
        const u32 left = text.size - u32(word) * 32;
        const u32 valid = left < 32 ? (1U << left) - 1 : ~0U;
        const u32 leads = is_wide & is_lead & valid;
        m.inside = is_wide & ~is_lead & valid;
        add_wide_chars<kHasRule>(tables, text, word, bytes.low.x, leads, m, found);
    }
    return m;
}

// Flags the documents of a word of the text that the CPU must encode, and lists its tile if an
// added token may start in it.
TM_DEVICE void report(const Tables* tables, const Batch* batch, const Text& text, int word,
                      const Bytes32& bytes, const Findings& found) {
    const u32 base = u32(word) * 32;
    if (found.malformed != 0) {
        flag_documents(batch, text, base, found.malformed, kInvalidUtf8);
    }
#if TM_NORMAL
    const u32 left = text.size - base;
    const u32 valid = left < 32 ? (1U << left) - 1 : ~0U;
    const u32 unsafe = found.unsafe | unsafe_ascii(tables, text.bytes + base, valid);
    if (unsafe != 0 && TM_NORMAL == 2) {
        flag_documents(batch, text, base, unsafe, kNotNormalized);
    } else if (unsafe != 0) {
        report_unsafe(tables, batch, word, unsafe);
    }
#endif
    if (may_hold_added(first_bytes(tables, batch), bytes)) {
        report_added(tables, batch, word);
    }
}
