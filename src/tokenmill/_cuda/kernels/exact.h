// Words that are a token which merging their bytes does not make. Only whole words count, and only
// if the tokenizer has `ignore_merges` (tables.py: exact_tokens).
#pragma once

#if TM_EXACT

TM_DEVICE bool is_token(const Tables* tables, u32 token, const u8* word, u32 size) {
    const u64 begin = tables->token_offsets[token];
    if (tables->token_offsets[token + 1] - begin != size) {
        return false;
    }
    for (u32 i = 0; i < size; ++i) {
        if (tables->token_bytes[begin + i] != word[i]) {
            return false;
        }
    }
    return true;
}

// Writes the id of such a word and returns 1, or returns 0 for other words.
TM_DEVICE u32 exact_id(const Tables* tables, const u8* text, uint4 miss, u32* ids) {
    const u32 size = miss.y;  // more than any token where it is a piece
    if (size > tables->exact_longest) {
        return 0;
    }
    const u8* word = text + miss.x;
    u32 hash = 2166136261u;
    for (u32 i = 0; i < size; ++i) {
        hash = (hash ^ word[i]) * 16777619u;
    }
    hash ^= hash >> 15;
    const u32 mask = u32(tables->exact_mask);
    for (u32 probe = 0; probe <= mask; ++probe) {
        const u32 slot = tables->exact_slots[(hash + probe) & mask];
        if (slot == 0) {
            return 0;
        }
        if (is_token(tables, slot - 1, word, size)) {
            ids[0] = slot - 1;
            return 1;
        }
    }
    return 0;
}

#else

TM_DEVICE u32 exact_id(const Tables*, const u8*, uint4, u32*) {
    return 0;
}

#endif
