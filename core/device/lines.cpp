// LineDevice: a lane reads lines, a seat encodes their texts.
//
//   lane    copy in | read: json kernels | . . . . . . . . . . | copy out: places, ids | join
//   seat                                 | encode: one at a time |
//
// A worker waits three times for the device, while others copy, encode or join.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "device/device.h"
#include "device/stopwatch.h"

namespace tokenmill::device {

namespace {

constexpr std::size_t kNumber = sizeof(std::uint32_t);

std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

const Recorded& fitting(const std::vector<Recorded>& recorded, std::size_t size) {
    for (const Recorded& one : recorded) {
        if (size <= one.size) {
            return one;
        }
    }
    throw Error(ErrorCode::BadArgument,
                "expected a block that fits its lane, got " + std::to_string(size) + " bytes");
}

std::vector<std::int64_t> widened(const std::uint32_t* numbers, std::size_t count) {
    return {numbers, numbers + count};
}

}  // namespace

bool ReadCounts::has_bad() const noexcept {
    return std::any_of(by_reason.begin(), by_reason.end(), [](std::int64_t n) { return n != 0; });
}

// A lane for one block. Waiting for one holds no other lock.
class LineDevice::HeldLane {
public:
    explicit HeldLane(LineDevice& device) : device_(device) {
        Lock lock(device.mutex_);
        device.freed_.wait(lock, [&] { return !device.free_.empty(); });
        number_ = device.free_.back();
        device.free_.pop_back();
        lane_ = &device.lanes_[number_];
    }
    ~HeldLane() { device_.give_back(number_); }
    HeldLane(const HeldLane&) = delete;
    HeldLane& operator=(const HeldLane&) = delete;
    HeldLane(HeldLane&&) = delete;
    HeldLane& operator=(HeldLane&&) = delete;

    [[nodiscard]] Lane& lane() const noexcept { return *lane_; }

private:
    LineDevice& device_;
    std::size_t number_ = 0;
    Lane* lane_ = nullptr;
};

void LineDevice::check(int error, const char* what) {
    if (error != 0) {
        throw Error(ErrorCode::DeviceFailed, std::string(what) + ": " + std::to_string(error));
    }
}

std::size_t LineDevice::add_seat(Seat seat) {
    const Guard lock(mutex_);
    seats_.push_back(std::move(seat));
    return seats_.size() - 1;
}

std::size_t LineDevice::add_lane(Lane lane) {
    std::size_t number = 0;
    {
        const Guard lock(mutex_);
        number = lanes_.size();
        lanes_.push_back(std::move(lane));
        free_.push_back(number);
    }
    freed_.notify_one();
    return number;
}

std::size_t LineDevice::add_reading(Reading reading) {
    const Guard lock(mutex_);
    readings_.push_back(std::move(reading));
    return readings_.size() - 1;
}

std::size_t LineDevice::free_lanes() {
    const Guard lock(mutex_);
    return free_.size();
}

std::optional<std::size_t> LineDevice::lend() {
    const Guard lock(mutex_);
    if (free_.empty()) {
        return std::nullopt;
    }
    const std::size_t number = free_.back();
    free_.pop_back();
    return number;
}

void LineDevice::give_back(std::size_t lane) {
    {
        const Guard lock(mutex_);
        free_.push_back(lane);
    }
    freed_.notify_one();
}

Lane& LineDevice::lane_at(std::size_t number) {
    const Guard lock(mutex_);
    return lanes_.at(number);
}

const Seat& LineDevice::seat_of(const Lane& lane) const {
    const Guard lock(mutex_);
    return seats_.at(lane.seat);
}

const Reading& LineDevice::reading_at(std::size_t number) const {
    const Guard lock(mutex_);
    return readings_.at(number);
}

void LineDevice::use_device() const {
    check(driver_.use_context(driver_.context), "the context");
}

void LineDevice::fetch(const Lane& lane, std::uint8_t* to, std::uint64_t from,
                       std::size_t size) const {
    check(driver_.copy(address_of(to), from, size, lane.stream), "a copy to the host");
}

void LineDevice::settle(const Lane& lane) const {
    check(driver_.record(lane.event, lane.stream), "an event");
    check(driver_.synchronize(lane.event), "the work before an event");
}

void LineDevice::start(std::size_t lane, std::size_t size, std::size_t reading) {
    use_device();
    start(lane_at(lane), size, reading);
}

void LineDevice::start(Lane& lane, std::size_t size, std::size_t reading) const {
    const Recorded& recorded = fitting(lane.reads, size);
    for (const FieldValue& field : reading_at(reading)) {
        lane.job[field.place] = field.value;
    }
    lane.job[layout_.json_size] = size;
    lane.job[layout_.json_tiles] = (size + layout_.json_tile_bytes - 1) / layout_.json_tile_bytes;
    check(driver_.copy(lane.raw, address_of(lane.raw_in), size, lane.stream),
          "a copy to the device");
    check(driver_.launch(recorded.graph, lane.stream), "reading lines");
    check(driver_.record(lane.event, lane.stream), "an event");
}

ReadCounts LineDevice::finish_reading(const Lane& lane) const {
    check(driver_.synchronize(lane.event), "reading lines");
    const std::uint32_t* const counts = lane.counters;
    const std::uint32_t* const reasons = counts + layout_.read_reasons;
    ReadCounts read;
    read.lines = counts[layout_.read_lines];
    read.documents = counts[layout_.read_documents];
    read.text_bytes = counts[layout_.read_bytes];
    read.repaired = counts[layout_.read_repaired];
    read.blank = reasons[layout_.blank];
    read.by_reason = widened(reasons, layout_.blank);
    read.is_sure = read.lines <= lane.line_room && counts[layout_.read_unsure] == 0 &&
                   reasons[layout_.unsure] == 0;
    return read;
}

// The host waits within the turn: the caller that has the next one finds the tables unused.
EncodedCounts LineDevice::encode_texts(const Lane& lane, const ReadCounts& read) {
    const Seat& seat = seat_of(lane);
    const Recorded& recorded = fitting(seat.works, read.text_bytes);
    Stopwatch watch;
    const Guard lock(turn_.mutex);
    watch.lap(spent_.turn);
    if (turn_.last != nullptr) {
        check(driver_.wait(work_stream_, turn_.last, 0), "the work of the turn before");
    }
    seat.batch[layout_.text] = lane.text;
    seat.batch[layout_.doc_begin] = lane.doc_begin;
    seat.batch[layout_.size] = read.text_bytes;
    seat.batch[layout_.documents] = read.documents;
    seat.batch[layout_.tiles] = (read.text_bytes + layout_.tile_bytes - 1) / layout_.tile_bytes;
    seat.batch[layout_.dedupe_mask] = recorded.dedupe_mask;
    check(driver_.launch(recorded.graph, work_stream_), "encoding");
    check(driver_.record(lane.event, work_stream_), "an event");
    check(driver_.synchronize(lane.event), "encoding");
    watch.lap(spent_.encode);
    EncodedCounts made;
    made.has_failed = seat.counters[layout_.arrival] != 0;
    made.has_flags = made.has_failed || seat.counters[layout_.flagged] != 0;
    made.ids = made.has_failed ? 0 : seat.counters[layout_.id_count];
    return made;
}

ChunkIds LineDevice::encode_started(std::size_t number) {
    const Lane& lane = lane_at(number);
    use_device();
    ChunkIds out;
    out.read = finish_reading(lane);
    if (!out.read.is_sure || out.read.text_bytes == 0) {
        return out;
    }
    out.made = encode_texts(lane, out.read);
    if (!out.made.has_flags) {
        const std::size_t count = out.read.documents + 1;
        fetch(lane, lane.numbers, seat_of(lane).doc_ids, count * kNumber);
        settle(lane);
        out.offsets = widened(reinterpret_cast<const std::uint32_t*>(lane.numbers), count);
    }
    return out;
}

LineIds LineDevice::encode(const pipeline::Model& model, Bytes lines, const mill::BlockRules& rules,
                           std::size_t reading) {
    Stopwatch watch;
    const HeldLane held(*this);
    watch.lap(spent_.lane);
    return encode_in(held.lane(), model, lines, rules, reading);
}

LineIds LineDevice::encode_lent(std::size_t lane, const pipeline::Model& model, Bytes lines,
                                const mill::BlockRules& rules, std::size_t reading) {
    return encode_in(lane_at(lane), model, lines, rules, reading);
}

LineIds LineDevice::encode_in(Lane& lane, const pipeline::Model& model, Bytes lines,
                              const mill::BlockRules& rules, std::size_t reading) {
    LineIds out;
    const std::size_t size = lines.size() + (!lines.empty() && lines.back() != '\n' ? 1 : 0);
    if (size == 0 || size > lane.raw_room) {
        out.outcome = Outcome::DoesNotFit;
        return out;
    }
    Stopwatch watch;
    use_device();
    if (lines.data() != lane.raw_in) {
        std::memcpy(lane.raw_in, lines.data(), lines.size());
    } else {
        spent_.in_place.fetch_add(1, std::memory_order_relaxed);
    }
    lane.raw_in[size - 1] = '\n';
    watch.lap(spent_.copy_in);
    start(lane, size, reading);
    const ReadCounts read = finish_reading(lane);
    watch.lap(spent_.read);
    if (!read.is_sure) {
        out.outcome = Outcome::LeftToReader;
        return out;
    }
    read::JsonlDocuments& documents = out.found.documents;
    documents.line_count = static_cast<std::int64_t>(read.lines);
    documents.blank_lines = static_cast<std::int64_t>(read.blank);
    documents.repaired_surrogates = static_cast<std::int64_t>(read.repaired);
    take_bad(lane, read, documents);
    take_places(lane, read, documents);
    watch.lap(spent_.places);
    spent_.blocks.fetch_add(1, std::memory_order_relaxed);
    EncodedCounts made;
    if (read.text_bytes != 0) {
        made = encode_texts(lane, read);
    }
    out.found.block = take_ids(model, lane, read, made, rules, out.flags);
    return out;
}

void LineDevice::take_places(const Lane& lane, const ReadCounts& read,
                             read::JsonlDocuments& out) const {
    const std::size_t size = read.documents * kNumber;
    if (size == 0) {
        return;
    }
    fetch(lane, lane.numbers, lane.doc_line, size);
    fetch(lane, lane.numbers + size, lane.doc_start, size);
    settle(lane);
    const auto* const numbers = reinterpret_cast<const std::uint32_t*>(lane.numbers);
    out.lines = widened(numbers, read.documents);
    out.begins = widened(numbers + read.documents, read.documents);
}

// Line l is the bytes after the newline before it, up to its own.
void LineDevice::take_bad(const Lane& lane, const ReadCounts& read,
                          read::JsonlDocuments& out) const {
    if (!read.has_bad()) {
        return;
    }
    const std::size_t size = read.lines * kNumber;
    fetch(lane, lane.numbers, lane.line_end, size);
    fetch(lane, lane.numbers + size, lane.line_reason, size);
    fetch(lane, lane.numbers + 2 * size, lane.line_fault, size);
    settle(lane);
    const auto* const ends = reinterpret_cast<const std::uint32_t*>(lane.numbers);
    const std::uint32_t* const reasons = ends + read.lines;
    const std::uint32_t* const faults = reasons + read.lines;
    for (std::size_t line = 0; line < read.lines; ++line) {
        if (reasons[line] >= layout_.blank) {
            continue;
        }
        const std::int64_t begin = line == 0 ? 0 : std::int64_t{ends[line - 1]} + 1;
        out.bad.push_back({static_cast<std::int64_t>(line), begin, ends[line] - begin,
                           faults[line] - begin, static_cast<read::Reason>(reasons[line])});
    }
}

}  // namespace tokenmill::device
