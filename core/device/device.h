// device: blocks of lines -> ids, by work that was recorded on a device before.
//
// A block takes one call here, so its worker waits for no interpreter between a copy, a kernel and
// the next copy. Who records the work owns all memory; here are only addresses and when to use
// them. Many threads may call, each with a lane of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/types.h"
#include "mill/mill.h"
#include "pipeline/pipeline.h"

namespace tokenmill::device {

// Functions of a device's driver: 0 is success. Host and device share one space of addresses.
struct Driver {
    int (*use_context)(void* context) = nullptr;
    int (*copy)(std::uint64_t to, std::uint64_t from, std::size_t size, void* stream) = nullptr;
    int (*launch)(void* graph, void* stream) = nullptr;
    int (*record)(void* event, void* stream) = nullptr;
    int (*wait)(void* stream, void* event, unsigned flags) = nullptr;
    int (*synchronize)(void* event) = nullptr;
    void* context = nullptr;
};

// Whose turn it is to use the tables of a tokenizer on a device. `last` is an event, if not null,
// after which the work of the turn before is done.
struct Turn {
    Mutex mutex;
    void* last = nullptr;
};

// Where the numbers are that change from block to block: places in structs of eight-byte numbers,
// and in arrays of counters.
struct Layout {
    std::size_t json_size = 0, json_tiles = 0, json_tile_bytes = 1;
    std::size_t text = 0, doc_begin = 0, size = 0, documents = 0, tiles = 0, dedupe_mask = 0;
    std::size_t tile_bytes = 1;
    std::size_t read_lines = 0, read_documents = 0, read_bytes = 0, read_repaired = 0;
    std::size_t read_unsure = 0, read_reasons = 0, blank = 0, unsure = 0;
    std::size_t flagged = 0, arrival = 0, id_count = 0;
    std::uint32_t failed_flag = 1;  // of all documents, if the work went wrong
};

// Launches for anything up to a size.
struct Recorded {
    std::size_t size = 0;
    void* graph = nullptr;
    std::uint64_t dedupe_mask = 0;
};

// What encodes the texts of a block: a struct on the host that the launches fetch, the counters
// that they bring, and the results on the device.
struct Seat {
    std::uint64_t* batch = nullptr;
    const std::uint32_t* counters = nullptr;
    std::uint64_t ids = 0, doc_ids = 0, doc_flags = 0;
    std::vector<Recorded> works;
};

// What reads the lines of a block. `raw_in` and `numbers` are host memory that a device copies
// directly; the others are on the device, except the struct and the counters.
struct Lane {
    std::uint8_t* raw_in = nullptr;
    std::size_t raw_room = 0;
    std::uint8_t* numbers = nullptr;
    std::size_t numbers_room = 0;
    std::uint64_t* job = nullptr;
    const std::uint32_t* counters = nullptr;
    std::uint64_t raw = 0, text = 0, doc_begin = 0, doc_line = 0, doc_start = 0;
    std::uint64_t line_end = 0, line_reason = 0, line_fault = 0;
    std::size_t line_room = 0;
    void* stream = nullptr;
    void* event = nullptr;
    std::size_t seat = 0;
    std::vector<Recorded> reads;
};

// A number of the struct that says which field is read, and how.
struct FieldValue {
    std::size_t place = 0;
    std::uint64_t value = 0;
};
using Reading = std::vector<FieldValue>;

// What a device found in the lines of a block. Unless `is_sure`, none of it is valid, and the CPU
// must read them.
struct ReadCounts {
    bool is_sure = false;
    std::size_t lines = 0, documents = 0, text_bytes = 0, repaired = 0, blank = 0;
    std::vector<std::int64_t> by_reason;  // bad lines, by the number of their reason
    [[nodiscard]] bool has_bad() const noexcept;
};

struct EncodedCounts {
    std::size_t ids = 0;
    bool has_flags = false;   // some documents need the CPU
    bool has_failed = false;  // all of them do
};

enum class Outcome : std::uint8_t { Done, LeftToReader, DoesNotFit };

// As mill::encode_jsonl returns it. `flags` are those of the documents that the CPU encoded.
struct LineIds {
    Outcome outcome = Outcome::Done;
    mill::JsonlIds found;
    std::vector<std::int64_t> flags;
};

// A chunk whose ids stay in the seat: where the ids of each document begin, if none needs the CPU.
struct ChunkIds {
    ReadCounts read;
    EncodedCounts made;
    std::vector<std::int64_t> offsets;
};

// Nanoseconds that callers of `encode` spent in each step, all together.
struct Spent {
    std::atomic<std::uint64_t> lane{0};      // waiting for a free lane
    std::atomic<std::uint64_t> copy_in{0};   // into memory that the device copies directly
    std::atomic<std::uint64_t> read{0};      // waiting for the bus and the reading of lines
    std::atomic<std::uint64_t> places{0};    // fetching places and faults
    std::atomic<std::uint64_t> turn{0};      // waiting for the turn to use the tables
    std::atomic<std::uint64_t> encode{0};    // waiting for the ids
    std::atomic<std::uint64_t> copy_out{0};  // fetching ids
    std::atomic<std::uint64_t> join{0};      // with the ids around documents
    std::atomic<std::uint64_t> blocks{0};    // a count
    std::atomic<std::uint64_t> in_place{0};  // blocks that were read into their lane
};

struct ReplacedIds;

class LineDevice {
public:
    LineDevice(const Driver& driver, const Layout& layout, Turn& turn, void* work_stream)
        : driver_(driver), layout_(layout), turn_(turn), work_stream_(work_stream) {}

    // The caller of add_seat and add_reading waits for them; lanes may be added at any time.
    std::size_t add_seat(Seat seat);
    std::size_t add_lane(Lane lane);
    std::size_t add_reading(Reading reading);
    [[nodiscard]] std::size_t free_lanes();

    // Takes a lane for a caller that fills `raw_in` of it; none if all are in use. A caller that
    // has one must not wait for another: all could be lent to callers that wait.
    [[nodiscard]] std::optional<std::size_t> lend();
    void give_back(std::size_t lane);

    // Starts to read the first `size` bytes of a lane's host memory: whole lines.
    void start(std::size_t lane, std::size_t size, std::size_t reading);
    // Waits for that, and encodes the texts; their ids are in the lane's seat, until its next use.
    [[nodiscard]] ChunkIds encode_started(std::size_t lane);

    // Reads and encodes a block in any lane; waits until one is free.
    [[nodiscard]] LineIds encode(const pipeline::Model& model, Bytes lines,
                                 const mill::BlockRules& rules, std::size_t reading);
    // The same in a lane that was lent; lines that are not there yet are copied.
    [[nodiscard]] LineIds encode_lent(std::size_t lane, const pipeline::Model& model, Bytes lines,
                                      const mill::BlockRules& rules, std::size_t reading);
    [[nodiscard]] const Spent& spent() const noexcept { return spent_; }

private:
    class HeldLane;

    // Throws for an error of the driver; `what` was called.
    static void check(int error, const char* what);
    void use_device() const;
    void fetch(const Lane& lane, std::uint8_t* to, std::uint64_t from, std::size_t size) const;
    void settle(const Lane& lane) const;
    void start(Lane& lane, std::size_t size, std::size_t reading) const;
    [[nodiscard]] Lane& lane_at(std::size_t number);
    [[nodiscard]] const Seat& seat_of(const Lane& lane) const;
    [[nodiscard]] const Reading& reading_at(std::size_t number) const;
    [[nodiscard]] LineIds encode_in(Lane& lane, const pipeline::Model& model, Bytes lines,
                                    const mill::BlockRules& rules, std::size_t reading);
    [[nodiscard]] ReadCounts finish_reading(const Lane& lane) const;
    [[nodiscard]] EncodedCounts encode_texts(const Lane& lane, const ReadCounts& read);
    void take_places(const Lane& lane, const ReadCounts& read, read::JsonlDocuments& out) const;
    void take_bad(const Lane& lane, const ReadCounts& read, read::JsonlDocuments& out) const;
    // Encodes by the CPU what has flags.
    [[nodiscard]] ReplacedIds replace(const pipeline::Model& model, const Lane& lane,
                                      const ReadCounts& read, const EncodedCounts& made,
                                      pipeline::SpecialMode special,
                                      std::vector<std::int64_t>& flags) const;
    void fetch_many(const Lane& lane, std::uint8_t* to, std::uint64_t from, std::size_t size) const;
    [[nodiscard]] mill::BlockIds take_ids(const pipeline::Model& model, const Lane& lane,
                                          const ReadCounts& read, const EncodedCounts& made,
                                          const mill::BlockRules& rules,
                                          std::vector<std::int64_t>& flags) const;

    Driver driver_;
    Layout layout_;
    Turn& turn_;
    void* work_stream_;
    mutable Mutex mutex_;  // of what follows; elements of a deque stay where they are
    std::deque<Seat> seats_;
    std::deque<Lane> lanes_;
    std::deque<Reading> readings_;
    Condition freed_;
    std::vector<std::size_t> free_;
    mutable Spent spent_;
};

}  // namespace tokenmill::device
