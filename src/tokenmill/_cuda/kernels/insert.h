// insert_words: merged words -> the word tables, for later batches. It is the only kernel that
// writes them; look_up must not run at the same time on the same tables.
#pragma once

constexpr u32 kInsertThreads = 256;

enum Learning : u32 { kNotLearnt, kInEntry, kInSlot, kInBoth };

struct InsertBlock {
    u32 numbers[kInsertThreads];  // of misses
    u32 kinds[kInsertThreads];
    u32 bytes[kInsertThreads];  // where in the block's part of long_bytes
    u32 ids[kInsertThreads];    // and of long_ids
    u32 wanted[4];              // as Tables::learnt
    u32 begins[4];
    u32 both;  // words that need an entry and a slot
    bool has_entries;
    bool has_slots;
    u32 learnt;
};

TM_DEVICE u32 learning_of(u32 size, u32 count) {
    if (size > kLearntWord) {
        return kNotLearnt;
    }
    return size > kShortWord ? kInSlot : count <= kInlineIds ? kInEntry : kInBoth;
}

TM_DEVICE void plan_words(const Batch* batch, const u32* list, u32 base, u32 total,
                          InsertBlock& block) {
    TM_THREADS(t, kInsertThreads) {
        block.kinds[t] = kNotLearnt;
        if (base + t < total) {
            const u32 number = list[base + t];
            const u32 size = miss_size(batch->misses[number]);
            const u32 count = batch->miss_counts[number];
            const u32 kind = learning_of(size, count);
            block.numbers[t] = number;
            block.kinds[t] = kind;
            if (kind == kInEntry || kind == kInBoth) {
                atomicAdd(kind == kInEntry ? &block.wanted[0] : &block.both, 1u);
            }
            if (kind == kInSlot || kind == kInBoth) {
                atomicAdd(&block.wanted[1], 1u);
                block.bytes[t] =
                    atomicAdd(&block.wanted[2], kind == kInSlot ? (size + 3) & ~3u : 0);
                block.ids[t] = atomicAdd(&block.wanted[3], count);
            }
        }
    }
    TM_SYNC();
}

// Reserves part of a table for all words of a block that need it, or for none if it is full.
TM_DEVICE bool reserve(const Tables* tables, u32 part, u64 limit, InsertBlock& block) {
    if (block.wanted[part] == 0) {
        return true;
    }
    if (tables->learnt[part] >= limit) {
        return false;  // or the counter of a full table would overflow one day
    }
    block.begins[part] = atomicAdd(&tables->learnt[part], block.wanted[part]);
    return u64(block.begins[part]) + block.wanted[part] <= limit;
}

TM_DEVICE void reserve_room(const Tables* tables, InsertBlock& block) {
    TM_THREADS(t, 1) {
        block.learnt = 0;
        block.has_slots = reserve(tables, 1, (tables->long_mask + 1) / 2, block) &&
                          reserve(tables, 2, tables->long_capacity, block) &&
                          reserve(tables, 3, tables->long_capacity, block);
        block.wanted[0] += block.has_slots ? block.both : 0;
        block.has_entries = reserve(tables, 0, tables->words_limit, block);
    }
    TM_SYNC();
}

TM_DEVICE bool has_room(u32 kind, const InsertBlock& block) {
    return (kind == kInSlot || block.has_entries) && (kind == kInEntry || block.has_slots);
}

TM_DEVICE bool insert_entry(const Tables* tables, uint4 key, uint4 value) {
    const u32 mask = u32(tables->words_mask);
    u32 slot = hash_key(key) & mask;
    for (u32 probe = 0; probe < kProbes; ++probe) {
        uint4* entry = tables->words + 2 * u64(slot);
        u32* words = reinterpret_cast<u32*>(entry);
        const u32 other = atomicCAS(words + 3, 0u, key.w);
        if (other == 0) {
            words[0] = key.x;
            words[1] = key.y;
            words[2] = key.z;
            entry[1] = value;
            return true;
        }
        // The same word, inserted by another thread. A half-written entry may look the same: then
        // this word is not learnt.
        if (other == key.w && words[0] == key.x && words[1] == key.y && words[2] == key.z) {
            return false;
        }
        slot = (slot + 1) & mask;
    }
    return false;
}

// Returns the slot of the word, or kNoBin if it was not inserted.
TM_DEVICE u32 insert_slot(const Tables* tables, u32 hash, u32 bytes, u32 ids, u32 facts) {
    const u32 mask = u32(tables->long_mask);
    u32 slot = hash & mask;
    for (u32 probe = 0; probe < kProbes; ++probe) {
        u32* words = reinterpret_cast<u32*>(tables->long_slots + slot);
        const u32 other = atomicCAS(words, 0u, long_tag(hash));
        if (other == 0) {
            words[1] = bytes;
            words[2] = ids;
            words[3] = facts;
            return slot;
        }
        if (other == long_tag(hash) && words[3] == facts) {
            return kNoBin;  // most likely the same word
        }
        slot = (slot + 1) & mask;
    }
    return kNoBin;
}

TM_DEVICE bool insert_long(const Tables* tables, const Batch* batch, uint4 miss, u32 count,
                           u32 bytes, u32 ids, u32& slot) {
    const u32 size = miss_size(miss);
    const u32* words = reinterpret_cast<const u32*>(batch->text + (miss.x & ~3u));
    for (u32 i = 0; i < count; ++i) {
        tables->long_ids[ids + i] = batch->arena[arena_place(miss.x) + i];
    }
    u32* stored = reinterpret_cast<u32*>(tables->long_bytes + bytes);
    for (u32 i = 0; 4 * i < size && size > kShortWord; ++i) {
        const u32 four = funnel(words[i], words[i + 1], 8 * (miss.x & 3));
        stored[i] = four & byte_mask(int(size - 4 * i));
    }
    const u32 hash = hash_words(words, miss.x & 3, size);
    slot = insert_slot(tables, hash, bytes, ids, long_facts(size, (miss.y & kPiece) != 0, count));
    return slot != kNoBin;
}

TM_DEVICE bool insert_word(const Tables* tables, const Batch* batch, u32 thread,
                           const InsertBlock& block) {
    const u32 number = block.numbers[thread];
    const u32 kind = block.kinds[thread];
    const uint4 miss = batch->misses[number];
    const u32 count = batch->miss_counts[number];
    const u32* words = reinterpret_cast<const u32*>(batch->text + (miss.x & ~3u));
    uint4 value = make_uint4(0, kElsewhere << 28, 0, count);
    if (kind != kInEntry) {
        const u32 bytes = block.begins[2] + block.bytes[thread];
        const u32 ids = block.begins[3] + block.ids[thread];
        if (!insert_long(tables, batch, miss, count, bytes, ids, value.z)) {
            return false;
        }
    } else {
        value = make_value(batch->arena + arena_place(miss.x), count);
    }
    const bool piece = (miss.y & kPiece) != 0;
    return kind == kInSlot ||
           insert_entry(tables, make_key(words, miss.x & 3, miss_size(miss), piece), value);
}

TM_DEVICE void insert_list(const Tables* tables, const Batch* batch, u32 bin, InsertBlock& block) {
    const u32 total = bin_total(batch, bin);
    const u32* list = bin_list(batch, bin);
    for (u32 base = TM_BLOCK * kInsertThreads; base < total; base += TM_BLOCKS * kInsertThreads) {
        TM_THREADS(t, 1) {
            block.both = 0;
            for (u32 i = 0; i < 4; ++i) {
                block.wanted[i] = 0;
            }
        }
        TM_SYNC();
        plan_words(batch, list, base, total, block);
        reserve_room(tables, block);
        TM_THREADS(t, kInsertThreads) {
            if (block.kinds[t] != kNotLearnt && has_room(block.kinds[t], block) &&
                insert_word(tables, batch, t, block)) {
                atomicAdd(&block.learnt, 1u);
            }
        }
        TM_SYNC();
        TM_THREADS(t, 1) {
            if (block.learnt != 0) {
                atomicAdd(&batch->counters[kLearntCount], block.learnt);
            }
        }
        TM_SYNC();
    }
}

// insert_words: miss_lists, arena -> words, long_slots, long_bytes, long_ids, learnt.
//
// A block takes 256 words of a list at a time, a thread one of them. Only lists of words of up to
// 64 bytes are learnt.
//   plan_words    each thread adds the room that its word needs to block.wanted (shared atomics)
//   reserve_room  one thread reserves it in the tables: one global atomic for each table
//   insert_word   each thread takes a free entry with atomicCAS on the word that marks it as used,
//                 and is then its only writer; readers come in a later launch
// A barrier ends each of these phases. Which words find a full table is chance; ids do not depend
// on it, because the tables are caches.
TM_KERNEL(256) insert_words(const Tables* tables, const Batch* batch) {
    TM_SHARED InsertBlock block;
    if ((batch->options & kLearn) != 0) {
        for (u32 bin = 0; bin < 3; ++bin) {
            insert_list(tables, batch, bin, block);
        }
    }
}
