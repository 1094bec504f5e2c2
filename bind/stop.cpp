// stop: what ends a call of a model before its work is done.
#include "base/stop.h"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind.h"

namespace tokenmill::bind {

void register_stop(nb::module_& m) {
    nb::class_<Stop>(m, "Stop", "Ends the calls it is passed to: after `timeout`, or on cancel().")
        .def(
            "__init__",
            [](Stop* self, std::optional<double> timeout) {
                const double seconds = timeout.value_or(Stop::kNoTimeout);
                if (std::isnan(seconds) || seconds < 0) {
                    throw Error(
                        ErrorCode::BadArgument,
                        "timeout: expected seconds, 0 or more, got " + std::to_string(seconds));
                }
                new (self) Stop(seconds);
            },
            nb::arg("timeout").none() = nb::none())
        .def("cancel", &Stop::cancel, "End the calls; any thread may ask for it.")
        .def_prop_ro("due", &Stop::due, "Has the time passed, or was it cancelled?")
        .def("check", &Stop::check, "Raise the exception of a call that it ends, if it is due.");
}

}  // namespace tokenmill::bind
