// Reasons to send a document to the CPU, looked for in 32 bytes at a time.
#pragma once

#include "added.h"
#include "text.h"

// Characters that a normalizer may change.
TM_DEVICE bool is_unsafe(const Tables* tables, u32 code) {
    return (read_table(tables->unsafe_basic + (code >> 5)) >> (code & 31) & 1) != 0;
}

#if TM_NORMAL

// Facts about a code point (normal.py): combining class, and whether it composes.
constexpr u32 kCombining = 255;
constexpr u32 kMaybe = 1u << 8;
constexpr u32 kChanged = 1u << 9;

TM_DEVICE u32 normal_facts(const Tables* tables, u32 code) {
    const u32 page = tables->normal_page_of[code >> 8];
    return tables->normal_pages[page << 8 | (code & 255)];
}

TM_DEVICE bool do_compose(const Tables* tables, u32 left, u32 right) {
    const u32 hash = left * 0x9E3779B1u + right * 0x85EBCA6Bu;
    const u32 mask = u32(tables->normal_mask);
    for (u32 at = (hash ^ hash >> 15) & mask;; at = (at + 1) & mask) {
        const u64 pair = read_table(tables->normal_pairs + at);
        if (pair == 0 || pair == (u64(left) << 32 | right)) {
            return pair != 0;
        }
    }
}

// Does composing (NFC) leave an unsafe character as it is? It must not change on its own. If it may
// compose, it must follow a character that starts a cluster, and not compose with that one. Else
// the combining classes must not fall. What comes earlier does not matter: a mark that cannot
// compose never changes what its neighbours do.
TM_DEVICE bool is_settled(const Tables* tables, const Text& text, u32 position, u32 code) {
    const u32 facts = normal_facts(tables, code);
    if ((facts & kChanged) != 0 || begins_document(text, position)) {
        return (facts & kChanged) == 0;
    }
    const u32 left = char_at(text, char_before(text, position)).code;
    const u32 before = normal_facts(tables, left) & kCombining;
    if ((facts & kMaybe) != 0) {
        return before == 0 && !do_compose(tables, left, code);
    }
    return before <= (facts & kCombining);
}

// Flags the documents of unsafe characters that composing changes; `unsafe` has a bit for each of
// the 32 bytes of a word of the text.
TM_RARE void report_unsafe(const Tables* tables, const Batch* batch, int word, u32 unsafe) {
    const Text text = text_of(batch);
    const u32 base = u32(word) * 32;
    u32 changed = 0;
    for (u32 rest = unsafe; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        const u32 code = char_at(text, base + i).code;
        changed |= u32(!is_settled(tables, text, base + i, code)) << i;
    }
    if (changed != 0) {
        flag_documents(batch, text, base, changed, kNotNormalized);
    }
}

#endif

// The same for bytes below 0x80; normalizers rarely change any of them.
TM_DEVICE u32 unsafe_ascii(const Tables* tables, const u8* bytes, u32 valid) {
    const u32* const table = tables->unsafe_basic;
    if ((read_table(table) | read_table(table + 1) | read_table(table + 2) |
         read_table(table + 3)) == 0) {
        return 0;
    }
    u32 found = 0;
    for (u32 i = 0; i < 32; ++i) {
        found |= u32(bytes[i] < 0x80 && is_unsafe(tables, bytes[i])) << i;
    }
    return found & valid;
}

// Does an added token start with these bytes? A token that reaches into the next document is found
// too, which only costs time.
TM_DEVICE bool is_added_prefix(const Tables* tables, const u8* text, u32 position) {
    const u64 bytes = u64(four_bytes(text, position + 4)) << 32 | four_bytes(text, position);
    const u64 count = tables->added_count;
    for (u64 i = 0; i < count; ++i) {
        if ((bytes & tables->added_masks[i]) == tables->added_prefixes[i]) {
            return true;
        }
    }
    return false;
}

// The candidates among 32 bytes where an added token starts; only the first of them, unless
// `every`.
TM_DEVICE u32 added_prefixes(const Tables* tables, const u8* text, u32 position, u32 candidates,
                             bool every) {
    u32 found = 0;
    for (u32 rest = candidates; rest != 0 && (every || found == 0); rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        const u32 byte = text[position + i];
        if ((read_table(tables->added_first + (byte >> 5)) >> (byte & 31) & 1) != 0) {
            found |= u32(is_added_prefix(tables, text, position + i)) << i;
        }
    }
    return found;
}

// The first bytes of added tokens, 0 if they are not looked for.
//   byte     7          6 .. 1 0
//   content  how many   the bytes, if there are at most seven
TM_DEVICE u64 first_bytes(const Tables* tables, const Batch* batch) {
    return (batch->options & kFindAdded) != 0 ? tables->added_bytes : 0;
}

// The high bit of each of four bytes that may equal the byte which `spread` holds four times. The
// byte above an equal one may be marked too, so this is only a filter.
TM_DEVICE u32 may_equal(u32 four, u32 spread) {
    const u32 zero = four ^ spread;
    return (zero - 0x01010101U) & ~zero & 0x80808080U;
}

// The same for 32 bytes, as a mask.
TM_DEVICE u32 may_equal(const Bytes32& b, u32 spread) {
    u32 mask = 0;
#define TM_PUSH(bytes) mask = push_four(mask, may_equal(bytes, spread));
    TM_EACH_FOUR_BACKWARDS(b, TM_PUSH)
#undef TM_PUSH
    return mask;
}

// May an added token start in these bytes? Most often no.
TM_DEVICE bool may_hold_added(u64 first, const Bytes32& b) {
    const u32 count = u32(first >> 56);
    u32 any = count > 7 ? 1 : 0;
    TM_ROLLED
    for (u32 i = 0; i < count && any == 0; ++i) {
        const u32 spread = u32(first >> 8 * i & 255) * 0x01010101U;
#define TM_ANY(bytes) any |= may_equal(bytes, spread);
        TM_EACH_FOUR_BACKWARDS(b, TM_ANY)
#undef TM_ANY
    }
    return any != 0;
}

// The bytes of 32 that may start an added token. If all tokens with a first byte have the same
// second one (a bit in byte 7 of added_seconds, and byte i), that must follow; the byte after the
// last one is not seen.
TM_DEVICE u32 may_begin_added(const Tables* tables, const Bytes32& b) {
    const u64 first = tables->added_bytes;
    const u64 seconds = tables->added_seconds;
    const u32 count = u32(first >> 56);
    if (count > 7) {
        return ~0U;
    }
    u32 found = 0;
    TM_ROLLED
    for (u32 i = 0; i < count; ++i) {
        u32 mask = may_equal(b, u32(first >> 8 * i & 255) * 0x01010101U);
        if (mask != 0 && (seconds >> (56 + i) & 1) != 0) {
            mask &= may_equal(b, u32(seconds >> 8 * i & 255) * 0x01010101U) >> 1 | 1U << 31;
        }
        found |= mask;
    }
    return found;
}

// The bytes of 32 that the vocabulary does not have.
TM_DEVICE u32 missing_bytes(const Tables* tables, const u8* bytes, u32 candidates) {
    u32 found = 0;
    for (u32 rest = candidates; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        found |= (read_table(tables->missing_bytes + (bytes[i] >> 5)) >> (bytes[i] & 31) & 1) << i;
    }
    return found;
}

// Lists the tile of a word of the text if an added token may start in it.
TM_RARE void report_added(const Tables* tables, const Batch* batch, int word) {
    const Text text = text_of(batch);
    const u32 base = u32(word) * 32;
    const u32 left = text.size - base;
    const u32 valid = left < 32 ? (1U << left) - 1 : ~0U;
    const u32 candidates = may_begin_added(tables, read_bytes(text.bytes, word)) & valid;
    const bool every = tables->added_longest > kLongestAdded || tables->missing_count != 0;
    const u32 added = added_prefixes(tables, text.bytes, base, candidates, every);
    if (added == 0) {
        return;
    }
    if (tables->added_longest > kLongestAdded) {
        flag_documents(batch, text, base, added, kAddedToken);
        return;
    }
    const u32 missing = every ? missing_bytes(tables, text.bytes + base, added) : 0;
    if (missing != 0) {
        flag_documents(batch, text, base, missing, kAddedToken);
    }
    list_candidate(batch, u32(word) / TM_TILE_WORDS);
}
