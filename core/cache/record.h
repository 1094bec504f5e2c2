// record: an entry <-> bytes for a tier outside of this process. Internal to cache.
//
//   0       8         12     16          24       32        48       64
//   | magic | version | bits | flags, 0  | text   | ids     | model  | checksum | text | packed ids
//
// The checksum is of everything but itself. Little-endian, as all that we write.
#pragma once

#include <vector>

#include "cache/entry.h"

namespace tokenmill::cache {

[[nodiscard]] std::vector<std::uint8_t> write_record(const Entry& entry);

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
