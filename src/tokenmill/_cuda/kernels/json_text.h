// json_sizes, json_text_bases, json_copy: fields -> their texts back to back, unescaped.
//
//   raw      { " t " : " a \ n b " } . { " t " : " \ u 0 0 6 3 " } .
//   fields   0 0 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 0 0 0
//   text     a \n b c              document 0 begins at 0, document 1 at 3
#pragma once

#include "json_walk.h"

// The part of fields in 32 bytes.
struct FieldWord {
    u32 plain;    // bytes that are copied
    u32 escapes;  // first bytes of escapes
    u32 begins;   // first bytes of fields
    u32 line;     // of the first byte
};

// The bits of places `begin` to `end` in the word at `base`.
TM_DEVICE u32 bits_between(u32 begin, u32 end, u32 base) {
    const u32 first = begin > base ? begin - base : 0;
    const u32 last = end > base ? end - base : 0;
    const u32 above = first < 32 ? ~0U << first : 0;
    return above & (last < 32 ? (1U << last) - 1 : ~0U);
}

// Bytes of a word that are inside of escapes, their first bytes included.
TM_DEVICE u32 escape_bytes(const Jsonl* job, u32 word) {
    u32 bytes = 0;
    const u32 before = word == 0 ? 0 : job->escape_bits[word - 1] >> 27;  // may reach into it
    for (u32 rest = before; rest != 0; rest &= rest - 1) {
        const u32 left = 5 - lowest_bit(rest);  // bytes of the word before that are in it
        const u32 size = job->raw[32 * word - left + 1] == 'u' ? 6 : 2;
        bytes |= size > left ? (1U << (size - left)) - 1 : 0;
    }
    for (u32 rest = job->escape_bits[word]; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        bytes |= (job->raw[32 * word + i + 1] == 'u' ? 0x3FU : 0x3U) << i;
    }
    return bytes;
}

TM_DEVICE FieldWord field_word(const Jsonl* job, u32 word, u32 line) {
    const u32 base = 32 * word;
    const u32 lines = line_count(job);
    FieldWord w = {0, 0, 0, line};
    u32 newlines = job->line_bits[word];
    for (u32 at = line; at < lines; ++at, newlines &= newlines - 1) {
        const u32 begin = job->field_begin[at];
        const u32 end = job->field_end[at];
        w.plain |= bits_between(begin, end, base);
        w.begins |= begin < end && begin >= base && begin - base < 32 ? 1U << (begin - base) : 0;
        if (newlines == 0) {
            break;
        }
    }
    if (w.plain != 0) {
        w.escapes = job->escape_bits[word] & w.plain;
        w.plain &= ~escape_bytes(job, word);
    }
    return w;
}

// Bytes of text in the low half, documents in the high half: a tile has fewer than 65536 of both.
TM_DEVICE u32 text_size(const Jsonl* job, u32 word, const FieldWord& w) {
    u32 size = count_bits(w.plain);
    for (u32 rest = w.escapes; rest != 0; rest &= rest - 1) {
        size += escaped_at(job->raw, 32 * word + lowest_bit(rest)).size;
    }
    return size | count_bits(w.begins) << 16;
}

// json_sizes: fields -> tile_bytes, tile_documents.
//
// A block owns a tile. Barriers: one in number_lines; sum is cleared before it and complete after
// the last one.
TM_KERNEL(TM_JSON_WORDS) json_sizes(const Tables*, const Jsonl* job) {
    if (is_beyond(job)) {
        return;
    }
    TM_SHARED u32 sum;
    JsonSums lines;
    TM_THREADS(t, 1) {
        sum = 0;
    }
    TM_SYNC();
    number_lines(job, lines);
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 word = TM_BLOCK * TM_JSON_WORDS + t;
        add_up(&sum, t, text_size(job, word, field_word(job, word, lines[t])));
    }
    TM_SYNC();
    TM_THREADS(t, 1) {
        job->tile_bytes[TM_BLOCK] = sum & 0xFFFF;
        job->tile_documents[TM_BLOCK] = sum >> 16;
    }
}

// json_text_bases: tile_bytes, tile_documents -> the sums before each tile, and of all.
TM_KERNEL(1024) json_text_bases(const Tables*, const Jsonl* job) {
    const u32 tiles = u32(job->tiles);
    scan_tiles(job->tile_bytes, job->byte_base, tiles, &job->counters[kJsonTextBytes]);
    TM_SYNC();
    scan_tiles(job->tile_documents, job->document_base, tiles, &job->counters[kJsonDocuments]);
}

// Notes where a document starts: in the text, and in the chunk.
TM_DEVICE void note_document(const Jsonl* job, u32 document, u32 text, u32 line) {
    job->doc_begin[document] = text;
    job->doc_line[document] = line;
    job->doc_start[document] = line_begin(job, line);
}

// Writes the text of a word to the staged tile, and notes the documents that start in it. `at` is
// the text before the word in its tile, `document` the number of the first one that starts in it.
TM_DEVICE void stage_word(const Jsonl* job, u32 word, const FieldWord& w, u8* staged, u32 at,
                          u32 document) {
    const u8* const raw = global_memory(job->raw) + 32 * word;
    const u32 base = job->byte_base[TM_BLOCK];
    for (u32 rest = w.plain | w.escapes; rest != 0; rest &= rest - 1) {
        const u32 i = lowest_bit(rest);
        if ((w.begins >> i & 1) != 0) {
            const u32 newlines = count_bits(job->line_bits[word] & ((1U << i) - 1));
            note_document(job, document++, base + at, w.line + newlines);
        }
        if ((w.escapes >> i & 1) == 0) {
            staged[at++] = raw[i];
            continue;
        }
        const Escaped e = escaped_at(job->raw, 32 * word + i);
        if (e.size != 0) {
            u8 bytes[4];
            encode_char(e.code, bytes);
            for (u32 k = 0; k < e.size; ++k) {
                staged[at++] = bytes[k];
            }
        }
    }
}

// Writes `size` bytes at `begin` of the text. They were staged from place begin % 16 on, so that
// whole lines of 16 bytes are copied as they are; those at both ends belong to other blocks too.
TM_DEVICE void write_tile(u8* text, u32 begin, u32 size, const u8* staged, u32 thread) {
    const u32 first = begin & ~15U;
    const u32 end = begin + size;
    for (u32 at = first + 16 * thread; at < end; at += 16 * TM_JSON_WORDS) {
        const u8* const from = staged + (at - first);
        if (at >= begin && at + 16 <= end) {
            *reinterpret_cast<uint4*>(text + at) = *reinterpret_cast<const uint4*>(from);
            continue;
        }
        for (u32 i = 0; i < 16; ++i) {
            if (at + i >= begin && at + i < end) {
                text[at + i] = from[i];
            }
        }
    }
}

struct StagedText {
    TM_ALIGN16 u8 bytes[TM_JSON_TILE + 32];
};

// json_copy: fields -> text, doc_begin, doc_line, doc_start.
//
// A block owns a tile. Barriers: one in number_lines, one before the second sums_before uses the
// same memory, one in it, and one when the tile is staged. Every byte is written once.
TM_KERNEL(TM_JSON_WORDS) json_copy(const Tables*, const Jsonl* job) {
    if (is_beyond(job)) {
        return;
    }
    TM_SHARED StagedText staged;
    PerThread<FieldWord, TM_JSON_WORDS> words;
    JsonSums sums;
    const u32 begin = job->byte_base[TM_BLOCK];
    number_lines(job, sums);
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 word = TM_BLOCK * TM_JSON_WORDS + t;
        words[t] = field_word(job, word, sums[t]);
        sums[t] = text_size(job, word, words[t]);
    }
    TM_SYNC();
    const u32 all = sums_before<TM_JSON_WORDS>(sums);
    TM_THREADS(t, TM_JSON_WORDS) {
        const u32 document = job->document_base[TM_BLOCK] + (sums[t] >> 16);
        stage_word(job, TM_BLOCK * TM_JSON_WORDS + t, words[t], staged.bytes + (begin & 15),
                   sums[t] & 0xFFFF, document);
        if (TM_BLOCK == 0 && t == 0) {
            job->doc_begin[job->counters[kJsonDocuments]] = job->counters[kJsonTextBytes];
        }
    }
    TM_SYNC();
    TM_THREADS(t, TM_JSON_WORDS) {
        write_tile(job->text, begin, all & 0xFFFF, staged.bytes, t);
    }
}
