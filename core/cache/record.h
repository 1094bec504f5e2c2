// record: an entry <-> bytes for a tier outside of this process. Internal to cache.
//
//   0       8         12     16      24          32         40  48      64         80
//   | magic | version | bits | flags | text size | id count | 0 | model | checksum | text | ids
//
// The checksum is of everything but itself. The ids are packed. All numbers are little-endian.
#pragma once

#include <vector>

#include "cache/entry.h"

namespace tokenmill::cache {

[[nodiscard]] std::vector<std::uint8_t> write_record(const SegmentEntry& entry);

// Is it as it was written?
[[nodiscard]] bool check_record(Bytes record) noexcept;

enum class RecordFault : std::uint8_t {
    None,
    Damaged,  // not as it was written, or by another version
    Other,    // whole, but of another segment
};

struct ReadRecord {
    EntryRef entry;  // null with a fault
    RecordFault fault = RecordFault::None;
};

// Believes nothing: a record must be whole, of this key, and its ids at most `max_id`.
[[nodiscard]] ReadRecord read_record(Bytes record, const SegmentKey& key, TokenId max_id,
                                     std::uint64_t generation);

}  // namespace tokenmill::cache
