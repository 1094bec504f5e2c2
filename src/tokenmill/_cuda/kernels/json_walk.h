// json_walk, json_settle: lines -> the field of each, or the reason why it has none.
#pragma once

#include "json_lines.h"

// The grammar is the CPU's own text.
namespace json_record {
using namespace tokenmill::read;
#include "read/record-inl.h"
}  // namespace json_record

using tokenmill::read::is_white;
using tokenmill::read::Value;

constexpr u32 kWalkThreads = 128;
constexpr u32 kMostLevels = 8;         // keys of a path; the host reads deeper ones
constexpr u32 kMostMembers = 1 << 16;  // of a line that a thread walks over; the CPU reads others

// How the walk scans strings on a device: from stop to stop. Texts are copied later.
struct MarkedStrings {
    const Jsonl* job;
    const u8* raw;
    const u32* stop_bits;
    u32 members_left;
    Value found[kMostLevels];

    // Is there no stop in this many times four words? All are loaded before one is waited for.
    template <u32 kFours>
    TM_DEVICE bool are_clear(u32 word) const {
        const uint4* const fours = reinterpret_cast<const uint4*>(stop_bits + word);
        u32 any = 0;
        TM_UNROLL
        for (u32 i = 0; i < kFours; ++i) {
            const uint4 four = fours[i];
            any |= four.x | four.y | four.z | four.w;
        }
        return any == 0;
    }

    // The first stop at or after a place: there is one at the end of the line, its newline.
    TM_DEVICE const u8* next_stop(const u8* at) const {
        const u32 place = u32(at - raw);
        u32 word = place >> 5;
        u32 bits = stop_bits[word] & (~0U << (place & 31));
        while (bits == 0) {
            ++word;
            if ((word & 3) == 0) {
                while ((word & 15) == 0 && are_clear<4>(word)) {
                    word += 16;
                }
                if (are_clear<1>(word)) {
                    word += 3;
                    continue;
                }
            }
            bits = stop_bits[word];
        }
        return raw + (32 * word + lowest_bit(bits));
    }

    TM_DEVICE bool scan(const u8*& at, Value& value) const {
        value.type = Value::Type::String;
        value.begin = at + 1;
        at = next_stop(value.begin);
        if (*at != '"') {
            return false;
        }
        value.end = at++;
        return true;
    }
    TM_DEVICE bool scan_field(const u8*& at, Value& value) const { return scan(at, value); }

    TM_DEVICE u32 levels() const { return u32(job->levels); }
    TM_DEVICE bool is_field(const Value& name, u32 level) const {
        return is_key(name, job->level_begin[level], u32(job->path_size));
    }
    TM_DEVICE bool is_step(const Value& name, u32 level) const {
        return is_key(name, job->level_begin[level], job->level_begin[level + 1] - 1);
    }
    TM_DEVICE void note(u32 level, const Value& value) { found[level] = value; }
    TM_DEVICE void forget(u32 level) {
        for (; level < levels(); ++level) {
            found[level].type = Value::Type::None;
        }
    }
    TM_DEVICE bool may_continue() { return --members_left != 0; }

    // Is a key, unescaped, that part of the path?
    TM_DEVICE bool is_key(const Value& name, u32 begin, u32 end) const {
        const u8* const wanted = job->path;
        const u8* at = name.begin;
        while (at != name.end) {
            if (*at != '\\') {
                if (begin == end || *at++ != wanted[begin++]) {
                    return false;
                }
                continue;
            }
            const Escaped e = escaped_at(raw, u32(at - raw));
            u8 bytes[4];
            encode_char(e.code, bytes);
            if (e.is_lone || end - begin < e.size) {
                return false;
            }
            for (u32 i = 0; i < e.size; ++i) {
                if (bytes[i] != wanted[begin++]) {
                    return false;
                }
            }
            at += e.raw_size;
        }
        return begin == end;
    }
};

// What a line came to: a field, or a reason and the place of the fault.
struct LineFound {
    u32 reason;
    u32 fault;
    u32 begin;
    u32 end;
};

TM_DEVICE LineFound fault_at(u32 reason, u32 place) {
    return {reason, place, 0, 0};
}

// A text that may be longer than allowed: its size is counted, escape by escape.
TM_DEVICE LineFound check_size(const Jsonl* job, u32 begin, u32 end) {
    u64 size = end - begin;
    u32 lone = kNowhere;
    for (u32 at = begin; at < end; ++at) {
        if ((job->escape_bits[at >> 5] >> (at & 31) & 1) != 0) {
            const Escaped e = escaped_at(job->raw, at);
            size -= e.raw_size - e.size;
            lone = e.is_lone && lone == kNowhere ? at : lone;
        }
    }
    if (lone != kNowhere && (job->options & kReplaceLone) == 0) {
        return fault_at(kJsonLoneSurrogate, lone);
    }
    return size > job->max_document_bytes ? fault_at(kJsonTooLong, begin)
                                          : LineFound{kJsonGood, 0, begin, end};
}

TM_DEVICE LineFound field_of(const Jsonl* job, const MarkedStrings& strings, u32 line) {
    u32 level = 0;
    while (level < strings.levels() && strings.found[level].type == Value::Type::None) {
        ++level;
    }
    if (level == strings.levels()) {
        return fault_at(kJsonMissingField, line);
    }
    const Value& value = strings.found[level];
    const u32 begin = u32(value.begin - strings.raw);
    if (value.type != Value::Type::String) {
        const bool is_null = value.type == Value::Type::Null;
        return fault_at(is_null ? kJsonNullField : kJsonWrongType, begin);
    }
    if (value.begin == value.end) {
        return fault_at(kJsonEmptyText, begin);
    }
    const u32 end = u32(value.end - strings.raw);
    return end - begin > job->max_document_bytes ? check_size(job, begin, end)
                                                 : LineFound{kJsonGood, 0, begin, end};
}

TM_DEVICE LineFound read_line(const Jsonl* job, u32 begin, u32 end, u32 malformed) {
    const u8* const raw = global_memory(job->raw);
    const u8* first = raw + begin;
    while (first != raw + end && is_white(*first)) {
        ++first;
    }
    if (first == raw + end) {
        return fault_at(kJsonBlank, begin);
    }
    if (end - begin > job->max_line_bytes) {
        return fault_at(kJsonTooLong, begin);
    }
    if (malformed != kNowhere) {
        return fault_at((job->options & kReplaceMalformed) != 0 ? kJsonUnsureLine : kJsonBadUtf8,
                        malformed);
    }
    MarkedStrings strings = {job, raw, global_memory(job->stop_bits), kMostMembers, {}};
    json_record::RecordWalk<MarkedStrings> walk(first, raw + end, strings);
    const bool is_good = walk.run();
    if (strings.members_left == 0) {
        return fault_at(kJsonUnsureLine, begin);
    }
    if (!is_good) {
        return fault_at(kJsonBadJson, u32(walk.place() - raw));
    }
    return *first == '{' ? field_of(job, strings, begin) : fault_at(kJsonWrongType, begin);
}

// json_walk: lines -> line_reason, line_fault, field_begin, field_end.
//
// A thread walks over every (128 * blocks)-th line, alone: no barrier, no atomics. Strings, which
// are most of a line, take a step for 128 or 512 bytes.
TM_KERNEL(kWalkThreads) json_walk(const Tables*, const Jsonl* job) {
    const u32 lines = line_count(job);
    for (u32 first = TM_BLOCK * kWalkThreads; first < lines; first += TM_BLOCKS * kWalkThreads) {
        TM_THREADS(t, kWalkThreads) {
            const u32 line = first + t;
            if (line < lines) {
                const LineFound found = read_line(job, line_begin(job, line), job->line_end[line],
                                                  job->line_malformed[line]);
                job->line_reason[line] = found.reason;
                job->line_fault[line] = found.fault;
                job->field_begin[line] = found.begin;
                job->field_end[line] = found.end;
            }
        }
    }
}

// json_settle: line_lone -> the last faults, and how many lines have which reason.
TM_KERNEL(kWalkThreads) json_settle(const Tables*, const Jsonl* job) {
    const u32 lines = line_count(job);
    for (u32 first = TM_BLOCK * kWalkThreads; first < lines; first += TM_BLOCKS * kWalkThreads) {
        TM_THREADS(t, kWalkThreads) {
            const u32 line = first + t;
            u32 reason = line < lines ? job->line_reason[line] : u32(kJsonGood);
            if (line < lines && job->line_lone[line] != kNowhere) {
                if ((job->options & kReplaceLone) != 0) {
                    atomicAdd(&job->counters[kJsonRepaired], 1U);
                } else {
                    reason = job->line_reason[line] = kJsonLoneSurrogate;
                    job->line_fault[line] = job->line_lone[line];
                    job->field_begin[line] = job->field_end[line] = 0;
                }
            }
            if (reason != kJsonGood) {
                atomicAdd(&job->counters[kJsonReasons + reason], 1U);
            }
        }
    }
}
