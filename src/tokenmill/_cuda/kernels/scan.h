// Words by the DFA, from a place where a word starts in any text: for splits without a rule, and
// for words that the mask algebra does not cover. The CPU's scanner (core/split/advance.h) is not
// shared, because it trusts its text; here the text may be malformed, and documents end inside of
// it.
#pragma once

#include "split/facts.h"
#include "text.h"

using namespace tokenmill::split;  // facts.h: the bits of a transition

// How far a scan follows a word beyond its own bytes, so that scans can be compared. Not in chains:
// the first stages often have no word for a long way.
constexpr u32 kScanBeyond = TM_STAGES > 1 ? 0 : 32;

// A DFA of a chain, as tables.py lays it out: numbers of eight bytes.
struct Stage {
    const u8* basic;
    const u16* page_of;
    const u8* pages;
    const u16* next;
    const u8* sync;
    u64 classes;
    u64 shift;
    u64 on_bytes;  // every byte counts as the character with its number
};

// Stage `number` of a chain. Where there is only one, its numbers are constants.
TM_DEVICE Stage stage_of(const Tables* tables, u32 number) {
#if TM_STAGES > 1
    return ((const Stage*)global_memory(tables->chain))[number];
#else
    (void)number;
    return {tables->stage_basic, tables->stage_page_of, tables->stage_pages, tables->stage_next,
            tables->stage_sync,  TM_STAGE_CLASSES,      TM_STAGE_SHIFT,      0};
#endif
}

struct Scanner {
    const Batch* batch;
    Text text;
    Stage stage;

    TM_DEVICE u32 class_at(u32 position, u32& size) const {
        if (TM_STAGES > 1 && stage.on_bytes != 0) {
            size = 1;
            return global_memory(stage.basic)[text.bytes[position]];
        }
        const Char c = char_at(text, position);
        size = c.size;
        return class_of(stage.basic, stage.page_of, stage.pages, c.code);
    }

    TM_DEVICE bool is_inside(u32 position) const {
        return (TM_STAGES == 1 || stage.on_bytes == 0) && is_continuation(text.bytes[position]);
    }

    TM_DEVICE u32 step_back(u32 position) const {
        return TM_STAGES > 1 && stage.on_bytes != 0 ? position - 1 : char_before(text, position);
    }

    // The last place at or before `position` where a word starts in any text (bit 0 of `sync`), or
    // before it where at least no match is open (bit 1): a scan from there may call that place a
    // start by mistake, but no later one. ~0 if there is none. Every character is decoded once: it
    // is the right one of a pair, then the left one.
    TM_DEVICE u32 sync_before(u32 position) const {
        const u8* const sync = global_memory(stage.sync);
        const u32 classes = u32(stage.classes);
        u32 size = 0;
        u32 right = classes;  // not known
        for (u32 at = position; position - at < TM_FARTHEST;) {
            if (begins_document(text, at)) {
                return at;
            }
            const u32 before = step_back(at);
            const u32 left = class_at(before, size);
            if (!is_inside(at)) {
                right = right == classes ? class_at(at, size) : right;
                if ((sync[left * classes + right] & (at == position ? 1 : 2)) != 0) {
                    return at;
                }
            }
            at = before;
            right = left;
        }
        return ~0U;
    }

    // End of the match that starts at `begin`: 0 if there is none, ~0 if it is too far away. An end
    // after `enough` need not be exact: any such place is returned.
    TM_DEVICE u32 match_end(u32 begin, u32 enough) const {
        u32 found = 0;
        u32 state = kStartState;
        for (u32 at = begin; at - begin < TM_FARTHEST;) {
            const bool is_end = at != begin && begins_document(text, at);
            u32 size = 0;
            const u32 symbol = is_end ? u32(stage.classes) : class_at(at, size);
            const u32 step = global_memory(stage.next)[state << u32(stage.shift) | symbol];
            found = (step & kMatchHere) != 0 ? at : found;
            state = step & kStateMask;
            if (is_end || state == kDeadState || found > enough) {
                return found;
            }
            at += size;
        }
        return ~0U;
    }

    // End of the word that starts at `begin`: of a match, or of the gap before the next one.
    TM_DEVICE u32 word_end(u32 begin, u32 enough) const {
        u32 end = match_end(begin, enough);
        for (u32 at = begin; end == 0;) {
            u32 size = 0;
            class_at(at, size);
            at += size;
            if (at > enough || begins_document(text, at)) {
                return at;
            }
            end = match_end(at, at) == 0 ? 0 : at;
        }
        return end;
    }

    // Leaves the document of a position to the CPU; returns where the next one starts among the 32
    // bytes at `base`, or ~0.
    TM_DEVICE u32 skip_document(u32 position, u32 base) const {
        leave_document_at(batch, position, kNoSync);
        const u32 passed = position < base ? 0 : position - base;
        const u32 rest = document_word(text, int(base >> 5)) & bits_above(passed);
        return rest == 0 ? ~0U : base + lowest_bit(rest);
    }

    // Bits of the words that start in the 32 bytes at `base`. `sync` is what sync_before returned.
    // `next` becomes the start of the first word after them if that is within 32 bytes, or a place
    // after those; 0: not known.
    TM_DEVICE u32 starts(u32 base, u32 sync, u32& next) const {
        const u32 stop = base + 32 < text.size ? base + 32 : text.size;
        u32 bits = 0;
        u32 word = sync == ~0U ? skip_document(base, base) : sync;
        while (word < stop) {
            bits |= word >= base ? 1U << (word - base) : 0;
            const u32 end = word_end(word, stop + kScanBeyond);
            word = end == ~0U ? skip_document(word, base) : end;
        }
        next = word == ~0U || kScanBeyond == 0 ? 0 : word;
        return bits;
    }
};
