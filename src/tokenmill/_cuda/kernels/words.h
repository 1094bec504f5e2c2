// The word tables: the ids of words that were merged before. They are caches: the ids are the same
// whatever they hold. look_up and emit_ids read them, only insert_words writes them.
//
// words, an entry of 32 bytes (one memory sector) for words of up to 15 bytes:
//   key    x          y          z          w
//          bytes 0-3  bytes 4-7  bytes 8-11 bytes 12-14, then size | piece << 7
//   value  x, y: ids 0 to 2 of 20 bits each, then how many ids in bits 28..31 of y
//          z, w: ids 3 to 5; or, if the count is kElsewhere: slot of long_slots, how many ids
//
// long_slots, 16 bytes, for words of 16 to 63 bytes and for more than six ids:
//   x tag, y place in long_bytes, z place in long_ids, w size | piece << 6 | ids << 8
#pragma once

constexpr u32 kShortWord = 15;     // bytes
constexpr u32 kLearntWord = 63;    // bytes
constexpr u32 kMergedWord = 8192;  // bytes; the CPU encodes longer ones
constexpr u32 kInlineIds = 6;
constexpr u32 kElsewhere = 7;
constexpr u32 kProbes = 16;
constexpr u32 kPiece = 0x80000000u;  // in the size of a miss
constexpr u32 kExternalMask = 0xFFFFFu;

// The code of a word: where its ids are.
//   bits   31 30   29       28 .. 26    25 .. 0
//   kOne    0  0   kOpens   0           the id
//   kMany   0  1   kOpens   count - 2   entry of `words`
//   kMiss   1  0   kOpens   number of the miss; all ones (kLost): no ids, its document is flagged
//   kLong   1  1   kOpens   slot of `long_slots`
// kOpens: a document starts with this word.
constexpr u32 kOne = 0;
constexpr u32 kMany = 1u << 30;
constexpr u32 kMiss = 2u << 30;
constexpr u32 kLong = 3u << 30;
constexpr u32 kKinds = 3u << 30;
constexpr u32 kOpens = 1u << 29;
constexpr u32 kPayload = kOpens - 1;
constexpr u32 kLost = kMiss | kPayload;
// In look_up, a word that is known to have no ids; its code becomes kLost.
constexpr u32 kNothing = kLost - 1;
constexpr u32 kManyShift = 26;
constexpr u32 kManySlot = (1u << kManyShift) - 1;

// A miss, a word that no table knows:
//                    x                    y               z                w
//   look_up          place of its bytes   size | kPiece   hash             0
//   dedupe_misses    .                    .               .                representative
//   finish_misses    .                    .               place in arena   count of ids
// With TM_IN_FRONT, no word has pieces, and kPiece marks a word with a blank before its text: the
// first one of a document. With TM_CLOSING it marks the last one.
TM_DEVICE u32 miss_size(uint4 miss) {
    return miss.y & ~kPiece;
}

// Does a blank come before the text of a miss?
TM_DEVICE u32 in_front(uint4 miss) {
    return TM_IN_FRONT != 0 && (miss.y & kPiece) != 0 ? 1 : 0;
}

// The most symbols that a miss has.
TM_DEVICE u32 symbol_places(uint4 miss) {
    return miss_size(miss) + in_front(miss);
}

// Where the ids of a miss go in the arena. A word has at most one id a byte, unless a blank comes
// in front or the normalizer makes characters longer.
TM_DEVICE u32 arena_place(u32 position) {
    return TM_ARENA_STEP * position;
}

TM_DEVICE bool same_words(uint4 a, uint4 b) {
    return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) == 0;
}

// `words` are the aligned words of text that hold the bytes; the first byte is number `skip`.
TM_DEVICE uint4 make_key(const u32* words, u32 skip, u32 size, bool piece) {
    const u32 shift = 8 * skip;
    const int n = int(size);
    const u32 last = funnel(words[3], words[4], shift) & byte_mask(n - 12);
    return make_uint4(funnel(words[0], words[1], shift) & byte_mask(n),
                      funnel(words[1], words[2], shift) & byte_mask(n - 4),
                      funnel(words[2], words[3], shift) & byte_mask(n - 8),
                      last | (size | (piece ? 128u : 0u)) << 24);
}

TM_DEVICE u32 fold(u32 a, u32 b) {
    const u64 product = u64(a) * b;
    return u32(product) ^ u32(product >> 32);
}

TM_DEVICE u32 spread(u32 hash) {
    hash ^= hash >> 16;
    hash *= 0x85EBCA6Bu;
    return hash ^ hash >> 15;
}

TM_DEVICE u32 hash_key(uint4 key) {
    const u32 first = fold(key.x ^ 0x9E3779B1u, key.y ^ 0xC2B2AE35u);
    const u32 second = fold(key.z ^ 0x27D4EB2Fu, key.w ^ 0x165667B1u);
    return spread(first + second * 0xD6E8FEB9u);
}

// The same for a word of any size, four bytes at a time.
TM_DEVICE u32 hash_more(u32 hash, u32 four) {
    return fold(hash ^ four, 0x9E3779B1u) + 0x7F4A7C15u;
}

TM_DEVICE u32 hash_words(const u32* words, u32 skip, u32 size) {
    u32 hash = size;
    for (u32 i = 0; 4 * i < size; ++i) {
        const u32 four = funnel(words[i], words[i + 1], 8 * skip);
        hash = hash_more(hash, four & byte_mask(int(size - 4 * i)));
    }
    return spread(hash);
}

TM_DEVICE u32 value_count(uint4 value) {
    return value.y >> 28;
}

TM_DEVICE u32 value_id(uint4 value, u32 i) {
    const u64 half = i < 3 ? u64(value.y) << 32 | value.x : u64(value.w) << 32 | value.z;
    return u32(half >> (20 * (i < 3 ? i : i - 3))) & kExternalMask;
}

TM_DEVICE uint4 make_value(const u32* ids, u32 count) {
    u64 low = u64(count) << 60;
    u64 high = 0;
    for (u32 i = 0; i < count; ++i) {
        (i < 3 ? low : high) |= u64(ids[i]) << (20 * (i < 3 ? i : i - 3));
    }
    return make_uint4(u32(low), u32(low >> 32), u32(high), u32(high >> 32));
}

TM_DEVICE u32 long_tag(u32 hash) {
    return hash | 1;
}  // not 0, which is a free slot

TM_DEVICE u32 long_facts(u32 size, bool piece, u32 count) {
    return size | (piece ? 64u : 0u) | count << 8;
}

// A copy of two fields: the compiler would load them again after every write.
struct WordTable {
    const uint4* words;
    u32 mask;
};

// Finds the entry of a word of up to 15 bytes, and its value.
TM_DEVICE bool find_word(const WordTable& table, uint4 key, u32& slot, uint4& value) {
    slot = hash_key(key) & table.mask;
    TM_ROLLED
    for (u32 probe = 0; probe < kProbes; ++probe) {
        const uint4 found = read_table(table.words + 2 * u64(slot));
        value = read_table(table.words + 2 * u64(slot) + 1);
        if (same_words(found, key)) {
            return true;
        }
        if (found.w == 0) {
            return false;
        }
        slot = (slot + 1) & table.mask;
    }
    return false;
}

TM_DEVICE bool same_bytes(const u32* words, u32 skip, u32 size, const u8* stored) {
    const u32* other = reinterpret_cast<const u32*>(stored);
    for (u32 i = 0; 4 * i < size; ++i) {
        const u32 four = funnel(words[i], words[i + 1], 8 * skip) & byte_mask(int(size - 4 * i));
        if (four != read_table(other + i)) {
            return false;
        }
    }
    return true;
}

// Finds the slot of a word of 16 to 63 bytes.
TM_DEVICE bool find_long(const Tables* tables, const u32* words, u32 skip, u32 size, bool piece,
                         u32& slot, u32& count) {
    const u32 mask = u32(tables->long_mask);
    const u32 hash = hash_words(words, skip, size);
    slot = hash & mask;
    for (u32 probe = 0; probe < kProbes; ++probe) {
        const uint4 found = read_table(tables->long_slots + slot);
        if (found.x == 0) {
            return false;
        }
        if (found.x == long_tag(hash) && (found.w & 127) == long_facts(size, piece, 0) &&
            same_bytes(words, skip, size, tables->long_bytes + found.y)) {
            count = found.w >> 8;
            return true;
        }
        slot = (slot + 1) & mask;
    }
    return false;
}
