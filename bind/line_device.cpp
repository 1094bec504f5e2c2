// line_device: addresses that Python has -> core/device, which uses them without the GIL.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "arrays.h"
#include "device/device.h"

namespace tokenmill::bind {

namespace {

using device::LineDevice;
using Recordings = std::vector<std::tuple<std::size_t, std::uintptr_t, std::uint64_t>>;

// A number of a dict; the Python error of a missing one.
std::uint64_t number_in(const nb::dict& numbers, const char* name) {
    return nb::cast<std::uint64_t>(numbers[name]);
}

template <typename T>
T* pointer_in(const nb::dict& numbers, const char* name) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(number_in(numbers, name)));
}

template <typename Call>
void take_call(const nb::dict& numbers, const char* name, Call& call) {
    call = reinterpret_cast<Call>(static_cast<std::uintptr_t>(number_in(numbers, name)));
}

device::Driver driver_of(const nb::dict& numbers) {
    device::Driver driver;
    take_call(numbers, "use_context", driver.use_context);
    take_call(numbers, "copy", driver.copy);
    take_call(numbers, "launch", driver.launch);
    take_call(numbers, "record", driver.record);
    take_call(numbers, "wait", driver.wait);
    take_call(numbers, "synchronize", driver.synchronize);
    driver.context = pointer_in<void>(numbers, "context");
    return driver;
}

device::Layout layout_of(const nb::dict& numbers) {
    device::Layout layout;
    const std::pair<const char*, std::size_t*> fields[] = {
        {"json_size", &layout.json_size},
        {"json_tiles", &layout.json_tiles},
        {"json_tile_bytes", &layout.json_tile_bytes},
        {"text", &layout.text},
        {"doc_begin", &layout.doc_begin},
        {"size", &layout.size},
        {"documents", &layout.documents},
        {"tiles", &layout.tiles},
        {"dedupe_mask", &layout.dedupe_mask},
        {"tile_bytes", &layout.tile_bytes},
        {"read_lines", &layout.read_lines},
        {"read_documents", &layout.read_documents},
        {"read_bytes", &layout.read_bytes},
        {"read_repaired", &layout.read_repaired},
        {"read_unsure", &layout.read_unsure},
        {"read_reasons", &layout.read_reasons},
        {"blank", &layout.blank},
        {"unsure", &layout.unsure},
        {"flagged", &layout.flagged},
        {"arrival", &layout.arrival},
        {"id_count", &layout.id_count},
    };
    for (const auto& [name, field] : fields) {
        *field = number_in(numbers, name);
    }
    layout.failed_flag = static_cast<std::uint32_t>(number_in(numbers, "failed_flag"));
    return layout;
}

std::vector<device::Recorded> recorded_of(const Recordings& given) {
    std::vector<device::Recorded> recorded;
    recorded.reserve(given.size());
    for (const auto& [size, graph, mask] : given) {
        recorded.push_back({size, reinterpret_cast<void*>(graph), mask});
    }
    return recorded;
}

device::Seat seat_of(const nb::dict& numbers, const Recordings& works) {
    device::Seat seat;
    seat.batch = pointer_in<std::uint64_t>(numbers, "batch");
    seat.counters = pointer_in<const std::uint32_t>(numbers, "counters");
    seat.ids = number_in(numbers, "ids");
    seat.doc_ids = number_in(numbers, "doc_ids");
    seat.doc_flags = number_in(numbers, "doc_flags");
    seat.works = recorded_of(works);
    return seat;
}

device::Lane lane_of(const nb::dict& numbers, const Recordings& reads) {
    device::Lane lane;
    lane.raw_in = pointer_in<std::uint8_t>(numbers, "raw_in");
    lane.raw_room = number_in(numbers, "raw_room");
    lane.numbers = pointer_in<std::uint8_t>(numbers, "numbers");
    lane.numbers_room = number_in(numbers, "numbers_room");
    lane.job = pointer_in<std::uint64_t>(numbers, "job");
    lane.counters = pointer_in<const std::uint32_t>(numbers, "counters");
    lane.raw = number_in(numbers, "raw");
    lane.text = number_in(numbers, "text");
    lane.doc_begin = number_in(numbers, "doc_begin");
    lane.doc_line = number_in(numbers, "doc_line");
    lane.doc_start = number_in(numbers, "doc_start");
    lane.line_end = number_in(numbers, "line_end");
    lane.line_reason = number_in(numbers, "line_reason");
    lane.line_fault = number_in(numbers, "line_fault");
    lane.line_room = number_in(numbers, "line_room");
    lane.stream = pointer_in<void>(numbers, "stream");
    lane.event = pointer_in<void>(numbers, "event");
    lane.seat = number_in(numbers, "seat");
    lane.reads = recorded_of(reads);
    return lane;
}

// (is sure, documents, text bytes, bad lines by reason, ids, has flags, offsets)
nb::tuple encode_started(LineDevice& self, std::size_t lane) {
    device::ChunkIds found;
    {
        const nb::gil_scoped_release release;
        found = self.encode_started(lane);
    }
    device::ReadCounts& read = found.read;
    return nb::make_tuple(read.is_sure, read.documents, read.text_bytes,
                          array_of(std::move(read.by_reason)), found.made.ids, found.made.has_flags,
                          array_of(std::move(found.offsets)));
}

// What callers of encode_lines spent in each step, in seconds, how many blocks they had, and how
// many of those were read into their lane.
nb::dict spent_of(const LineDevice& self) {
    const device::Spent& spent = self.spent();
    const std::pair<const char*, const std::atomic<std::uint64_t>*> steps[] = {
        {"lane", &spent.lane},     {"copy_in", &spent.copy_in},   {"read", &spent.read},
        {"places", &spent.places}, {"turn", &spent.turn},         {"encode", &spent.encode},
        {"join", &spent.join},     {"copy_out", &spent.copy_out},
    };
    nb::dict found;
    for (const auto& [name, nanoseconds] : steps) {
        found[name] = 1e-9 * static_cast<double>(nanoseconds->load());
    }
    found["blocks"] = spent.blocks.load();
    found["in_place"] = spent.in_place.load();
    return found;
}

// Tries first: letting the GIL go costs more than a lock that is free.
void lock(device::Turn& turn) {
    if (!turn.mutex.try_lock()) {
        const nb::gil_scoped_release release;
        turn.mutex.lock();
    }
}

void register_turn(nb::module_& m) {
    nb::class_<device::Turn>(m, "DeviceTurn",
                             "A lock that calls with and without the GIL share; `last` is the "
                             "handle of an event, or 0.")
        .def(nb::init<>())
        .def("__enter__", &lock)
        .def(
            "__exit__",
            [](device::Turn& self, nb::handle, nb::handle, nb::handle) { self.mutex.unlock(); },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none())
        .def_prop_rw(
            "last",
            [](const device::Turn& self) { return reinterpret_cast<std::uintptr_t>(self.last); },
            [](device::Turn& self, std::uintptr_t event) {
                self.last = reinterpret_cast<void*>(event);
            });
}

}  // namespace

// (ids, lengths, lines, begins, bad lines, counts, flags), or the outcome if there are none: 1, the
// CPU must read the lines; 2, they do not fit.
nb::object encode_lines(const pipeline::Model& model, LineDevice& device, nb::handle buffer,
                        const mill::BlockRules& rules, std::size_t reading,
                        std::optional<std::size_t> lane) {
    const HeldBuffer held(buffer);
    device::LineIds found;
    {
        const nb::gil_scoped_release release;
        found = lane.has_value() ? device.encode_lent(*lane, model, held.bytes(), rules, reading)
                                 : device.encode(model, held.bytes(), rules, reading);
    }
    if (found.outcome != device::Outcome::Done) {
        return nb::int_(static_cast<int>(found.outcome));
    }
    return jsonl_tuple(found.found, rules) + nb::make_tuple(array_of(std::move(found.flags)));
}

void register_line_device(nb::module_& m) {
    register_turn(m);
    nb::class_<LineDevice>(m, "LineDevice",
                           "Reads and encodes lines on a device; its maker keeps all memory whose "
                           "addresses it has.")
        .def(
            "__init__",
            [](LineDevice* self, const nb::dict& driver, const nb::dict& layout, device::Turn& turn,
               std::uintptr_t work_stream) {
                new (self) LineDevice(driver_of(driver), layout_of(layout), turn,
                                      reinterpret_cast<void*>(work_stream));
            },
            nb::arg("driver"), nb::arg("layout"), nb::arg("turn"), nb::arg("work_stream"),
            nb::keep_alive<1, 4>())
        .def(
            "add_seat",
            [](LineDevice& self, const nb::dict& numbers, const Recordings& works) {
                return self.add_seat(seat_of(numbers, works));
            },
            nb::arg("numbers"), nb::arg("works"))
        .def(
            "add_lane",
            [](LineDevice& self, const nb::dict& numbers, const Recordings& reads) {
                return self.add_lane(lane_of(numbers, reads));
            },
            nb::arg("numbers"), nb::arg("reads"))
        .def(
            "add_reading",
            [](LineDevice& self, const std::vector<std::pair<std::size_t, std::uint64_t>>& values) {
                device::Reading reading;
                for (const auto& [place, value] : values) {
                    reading.push_back({place, value});
                }
                return self.add_reading(std::move(reading));
            },
            nb::arg("values"))
        .def(
            "start",
            [](LineDevice& self, std::size_t lane, std::size_t size, std::size_t reading) {
                self.start(lane, size, reading);
            },
            nb::arg("lane"), nb::arg("size"), nb::arg("reading"),
            nb::call_guard<nb::gil_scoped_release>(), "Start to read what is in a lane.")
        .def("encode_started", &encode_started, nb::arg("lane"),
             "Wait for a lane and encode its texts; the ids stay on the device.")
        .def_prop_ro("free_lanes", &LineDevice::free_lanes)
        .def("lend", &LineDevice::lend,
             "Take a lane whose host memory the caller fills; None if all are in use.")
        .def("give_back", &LineDevice::give_back, nb::arg("lane"))
        .def_prop_ro("spent", &spent_of,
                     "Seconds that calls of `encode_lines` took for each step, and their number.");
}

}  // namespace tokenmill::bind
