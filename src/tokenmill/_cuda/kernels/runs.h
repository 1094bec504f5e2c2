// The masks of a tile in shared memory, and what reaches over more than the neighbours of a word of
// 32 bytes: such runs are followed word by word, and beyond the tile along the text.
#pragma once

#include "masks.h"

// Of a tile: a word before it, its own and a word behind it.
#define TM_MASK_WORDS (TM_TILE_WORDS + 2)

enum MaskName : u32 {
    kMaskLetter,
    kMaskNumber,
    kMaskWhite,
    kMaskSpace,
    kMaskInside,
#if TM_CONTRACTION != 0
    kMaskApostrophe,
#endif
#if TM_FAMILY >= 2
    kMaskNewline,
#endif
#if TM_TAIL == 2
    kMaskSlash,
#endif
#if TM_CASED
    kMaskUpper,
    kMaskLower,
    kMaskHard,
#endif
#if TM_ISOLATE_HAN
    kMaskHan,
#endif
    kMaskCount,
};

constexpr u32 kUnknown = 255;

// What the runs meet that reach beyond the masks.
struct Edges {
    u32 absorbed;  // the first byte of the masks belongs to the punctuation before: 0, 1, kUnknown
    u32 digits;    // number characters that directly precede the masks, modulo a group, or kUnknown
    u32 white;     // the RunEnd of blanks that go on behind the masks
};

struct Tile {
    const u32* masks;
    const Edges* edges;
    Text text;
    int first_word;  // of the masks, in the text

    TM_DEVICE u32 word(MaskName name, u32 i) const { return masks[name * TM_MASK_WORDS + i]; }
    TM_DEVICE u32 documents(u32 i) const { return document_word(text, first_word + int(i)); }
    TM_DEVICE u32 hard(u32 i) const {
#if TM_CASED
        return word(kMaskHard, i);
#else
        (void)i;
        return 0;
#endif
    }
    TM_DEVICE u32 other(u32 i) const {
        const u32 rest = ~(word(kMaskLetter, i) | word(kMaskNumber, i) | word(kMaskWhite, i));
#if TM_ISOLATE_HAN
        return rest & ~word(kMaskHan, i);
#else
        return rest;
#endif
    }
#if TM_FAMILY >= 2
    // What punctuation takes along behind it, once a newline has begun.
    TM_DEVICE u32 tail(u32 i) const {
#if TM_TAIL == 2
        return word(kMaskNewline, i) | word(kMaskSlash, i);
#else
        return word(kMaskNewline, i);
#endif
    }
#endif
    // Sixteen bytes on both sides of the 32 bytes of word i.
    TM_DEVICE u64 window(MaskName name, u32 i) const {
        const u32 own = word(name, i);
        return u64(funnel(own, word(name, i + 1), 16)) << 32 | funnel(word(name, i - 1), own, 16);
    }
};

#if TM_FAMILY >= 2

// Is the first byte of the window of word i, one of a tail, taken along by punctuation?
TM_DEVICE u32 absorbed_before(const Tile& tile, u32 i) {
    u32 seen = 0x1FFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 documents = tile.documents(w);
        const u32 before = w == 0 ? 0 : tile.other(w - 1) >> 31;
        const u32 hard_before = w == 0 ? 0 : tile.hard(w - 1) >> 31;
        const u32 first =
            tile.word(kMaskNewline, w) & (tile.other(w) << 1 | before) & ~documents & seen;
        const u32 doubt = tile.hard(w) << 1 | hard_before;
        const u32 stops = (~tile.tail(w) | documents) & seen;
        const u32 run = stops == 0 ? seen : seen & bits_above(highest_bit(stops));
        if ((first & run & ~doubt) != 0) {
            return 1;
        }
        if ((first & run) != 0) {
            return kUnknown;
        }
        if (stops != 0) {
            return 0;
        }
        if (w == 0) {
            return tile.edges->absorbed;
        }
    }
}

#endif

// Number characters directly before the window of word i, modulo a group.
TM_DEVICE u32 digits_before(const Tile& tile, u32 i, u32 group) {
    u32 count = 0;
    u32 seen = 0xFFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 number = tile.word(kMaskNumber, w);
        const u32 documents = tile.documents(w) & seen;
        const u32 gaps = ~number & seen;
        u32 run = gaps == 0 ? seen : seen & bits_above(highest_bit(gaps));
        const u32 begin = documents & run;
        run &= begin == 0 ? ~0U : ~((1U << highest_bit(begin)) - 1);
        const u32 last_gap = gaps == 0 || begin != 0 ? 0 : 1U << highest_bit(gaps);
        if ((tile.hard(w) & (run | last_gap)) != 0) {
            return kUnknown;
        }
        count += count_bits(run & ~tile.word(kMaskInside, w));
        if (gaps != 0 || begin != 0) {
            return count % group;
        }
        if (w == 0) {
            return tile.edges->digits == kUnknown ? kUnknown : (count + tile.edges->digits) % group;
        }
    }
}

#if TM_FAMILY >= 2

// What the blanks meet that reach the end of the window of word i.
TM_DEVICE u32 blanks_end(const Tile& tile, u32 i) {
    u32 seen = ~0xFFFFU;
    for (u32 w = i + 1; w < TM_MASK_WORDS; ++w, seen = ~0U) {
        const u32 newline = tile.word(kMaskNewline, w);
        const u32 documents = tile.documents(w);
        const u32 stops = (~tile.word(kMaskWhite, w) | newline | documents) & seen;
        if (stops != 0) {
            const u32 stop = stops & (0 - stops);
            return (documents & stop) != 0 ? kRunEndOfText
                   : (newline & stop) != 0 ? kRunNewline
                                           : kRunText;
        }
    }
    return tile.edges->white;
}

#endif

#if TM_CASED

// Does a letter stand behind the capitals that reach the end of the window of word i?
TM_DEVICE u32 letter_behind(const Tile& tile, u32 i) {
    u32 seen = ~0xFFFFU;
    for (u32 w = i + 1; w < TM_MASK_WORDS; ++w, seen = ~0U) {
        const u32 documents = tile.documents(w);
        const u32 stops = (~tile.word(kMaskUpper, w) | documents) & seen;
        if (stops != 0) {
            const u32 stop = stops & (0 - stops) & ~documents;
            return (tile.hard(w) & stop) != 0 ? kUnknown : (tile.word(kMaskLetter, w) & stop) != 0;
        }
    }
    return kUnknown;
}

// A lower-case letter, by its last byte, before caseless ones: is it of their word? Not if a
// contraction ends with it, and whether one does depends on what stands before that.
TM_DEVICE u32 is_of_word(const Text& text, u32 position) {
    const u8* const last = text.bytes + position;
    return TM_CONTRACTION != 0 && (last[-1] == '\'' || last[-2] == '\'') ? kUnknown : 1;
}

// Does a lower-case letter of the same word stand before the caseless ones that reach back to the
// begin of the window of word i?
TM_DEVICE u32 lower_before(const Tile& tile, u32 i) {
    u32 seen = 0xFFFF;
    for (u32 w = i - 1;; --w, seen = ~0U) {
        const u32 lower = tile.word(kMaskLower, w);
        const u32 cased = tile.word(kMaskUpper, w) | lower;
        const u32 stops = (~tile.word(kMaskLetter, w) | cased) & seen;
        const u32 stop = stops == 0 ? 0 : highest_bit(stops);
        const u32 run = stops == 0 ? seen : seen & bits_above(stop);
        if ((tile.documents(w) & run) != 0) {
            return 0;
        }
        if (stops != 0) {
            const u32 position = u32(tile.first_word + int(w)) * 32 + stop;
            return (tile.hard(w) >> stop & 1) != 0 ? kUnknown
                   : (lower >> stop & 1) != 0      ? is_of_word(tile.text, position)
                                                   : 0;
        }
        if (w == 0) {
            return kUnknown;
        }
    }
}

// Where a word surely begins, whatever else the text is: behind letters and numbers all but a
// letter, number or apostrophe that may go on; behind punctuation a blank; behind a newline a
// letter or number. Behind the left edge of the masks some are not seen.
TM_DEVICE u32 sync_places(const Tile& tile, u32 w) {
    const auto after = [w](u32 own, u32 before) { return own << 1 | (w == 0 ? 0 : before >> 31); };
    const u32 last = w == 0 ? 0 : w - 1;
    const u32 letter = tile.word(kMaskLetter, w);
    const u32 number = tile.word(kMaskNumber, w);
    const u32 newline = tile.word(kMaskNewline, w);
    const u32 blank = tile.word(kMaskWhite, w) & ~newline;
    const u32 other = tile.other(w);
    const u32 after_letter = after(letter, tile.word(kMaskLetter, last));
    const u32 after_number = after(number, tile.word(kMaskNumber, last));
    u32 ends = blank | newline | other;
#if TM_CONTRACTION != 0
    ends &= ~tile.word(kMaskApostrophe, w);
#endif
    u32 places = ((after_letter | after_number) & ends) | (after_letter & number);
    places |= after_number & letter;
    places |= after(other, tile.other(last)) & blank;
    places |= after(newline, tile.word(kMaskNewline, last)) & (letter | number);
#if TM_ISOLATE_HAN
    const u32 han = tile.word(kMaskHan, w);
    places |= after(han, tile.word(kMaskHan, last)) & (ends | letter | number);
    places |= after_letter & han;
#endif
    const u32 hard = tile.hard(w);
    return (places & ~hard & ~after(hard, tile.hard(last))) | tile.documents(w);
}

// The last of those up to the first byte of word i, or ~0.
TM_DEVICE u32 sync_before(const Tile& tile, u32 i) {
    u32 seen = 1;
    for (u32 w = i;; --w, seen = ~0U) {
        const u32 places = sync_places(tile, w) & seen;
        if (places != 0) {
            return u32(tile.first_word + int(w)) * 32 + highest_bit(places);
        }
        if (w == 0) {
            return ~0U;
        }
    }
}

#endif

// The first three beyond the masks, along the text. Too far for that: the CPU takes the document.
struct Beyond {
    const Tables* tables;
    const Batch* batch;
    Text text;

    TM_DEVICE u32 absorbed_at(u32 position) const {
        u32 answer = 0;
        for (u32 at = position; position - at < TM_FARTHEST; --at) {
            if (begins_document(text, at)) {
                return answer;
            }
            const u32 byte = text.bytes[at];
            const bool is_newline = byte == '\n' || byte == '\r';
            if (!is_newline && !(TM_TAIL == 2 && byte == '/')) {
                return answer;
            }
            const u32 before = char_before(text, at);
            const u32 code = char_at(text, before).code;
            const u32 bits = rule_class(tables, code);
            const bool is_other = (bits & (kLetter | kNumber | kWhite | kHan)) == 0;
            const bool is_doubtful = TM_CASED && is_hard(bits, code);
            if (is_newline && is_other && !is_doubtful) {
                return 1;
            }
            answer = is_newline && is_doubtful ? kUnknown : answer;
        }
        leave_document_at(batch, position, kNoSync);
        return 0;
    }

    TM_DEVICE u32 digits_before(u32 position, u32 group) const {
        u32 count = 0;
        for (u32 at = position; position - at < TM_FARTHEST;) {
            if (begins_document(text, at)) {
                return count % group;
            }
            at = char_before(text, at);
            const u32 code = char_at(text, at).code;
            const u32 bits = rule_class(tables, code);
            if (TM_CASED && is_hard(bits, code)) {
                return kUnknown;
            }
            if ((bits & kNumber) == 0) {
                return count % group;
            }
            ++count;
        }
        leave_document_at(batch, position, kNoSync);
        return 0;
    }

    TM_DEVICE u32 blanks_end(u32 position) const {
        u32 at = position;
        while (at - position < 3 && !begins_document(text, at) && is_continuation(text.bytes[at])) {
            ++at;  // the rest of a blank that the masks have
        }
        while (at - position < TM_FARTHEST) {
            if (begins_document(text, at)) {
                return kRunEndOfText;
            }
            const u32 byte = text.bytes[at];
            if (byte == '\n' || byte == '\r') {
                return kRunNewline;
            }
            const Char c = char_at(text, at);
            if ((rule_class(tables, c.code) & kWhite) == 0) {
                return kRunText;
            }
            at += c.size;
        }
        leave_document_at(batch, position - 1, kNoSync);
        return kRunText;
    }
};
