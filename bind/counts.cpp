// counts: what the engine counted -> values of Python.
#include "counts.h"

namespace tokenmill::bind {

namespace {

// In the order of WorkStage, and of the Tally values that are tables.
constexpr const char* kStageNames[kStages] = {"parse",   "normalize",  "split",
                                              "look_up", "merge",      "emit",
                                              "other",   "wait_input", "wait_output"};
constexpr const char* kTableNames[] = {"8_bytes", "16_bytes", "32_bytes",
                                       "long",    "batch",    "vocabulary"};

[[nodiscard]] std::uint64_t tally_of(const CounterValues& values, Tally tally) {
    return values.tallies[static_cast<std::size_t>(tally)];
}

nb::dict words_of(const CounterValues& values) {
    nb::dict hit;
    std::uint64_t looked_up = tally_of(values, Tally::Merged);
    for (std::size_t i = 0; i < std::size(kTableNames); ++i) {
        const std::uint64_t found = values.tallies[static_cast<std::size_t>(Tally::Hit8) + i];
        hit[kTableNames[i]] = found;
        looked_up += found;
    }
    nb::dict words;
    words["looked_up"] = looked_up;
    words["hit"] = hit;
    words["missed"] = tally_of(values, Tally::Merged);
    words["evicted"] = tally_of(values, Tally::Evicted);
    return words;
}

}  // namespace

nb::dict dict_of(const CounterValues& values) {
    const double rate = seconds_per_tick();
    nb::dict stages;
    for (std::size_t i = 0; i < kStages; ++i) {
        const double seconds = static_cast<double>(values.ticks[i]) * rate;
        stages[kStageNames[i]] = nb::make_tuple(seconds, values.bytes[i]);
    }
    nb::dict out;
    out["stages"] = stages;
    out["words"] = words_of(values);
    out["calls"] = tally_of(values, Tally::Calls);
    out["documents"] = tally_of(values, Tally::Documents);
    return out;
}

nb::dict memory_of(const pipeline::MemoryUse& use) {
    nb::dict out;
    out["mapped"] = use.mapped;
    out["resident"] = use.tables + use.buffers;
    out["tables"] = use.tables;
    out["shared_tables"] = use.shared;
    out["caches"] = use.buffers;
    out["scratch"] = use.scratch;
    out["workers"] = use.workers;
    out["large_tables"] = use.large_tables;
    return out;
}

void register_counts(nb::module_& m) {
    nb::class_<CallCounts>(m, "CallCounts",
                           "What the calls that got it have counted, one after another.")
        .def(
            "__init__",
            [](CallCounts* self, bool exact) {
                new (self) CallCounts;
                self->is_exact = exact;
            },
            nb::arg("exact") = false)
        .def("as_dict", [](const CallCounts& self) {
            nb::dict out = dict_of(self.values);
            out["wall_seconds"] = static_cast<double>(self.wall) * seconds_per_tick();
            out["threads"] = self.threads;
            return out;
        });
}

}  // namespace tokenmill::bind
