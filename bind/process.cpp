// process: what is the same for all models of the process.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "bind.h"
#include "simd/target.h"

namespace tokenmill::bind {

void register_process(nb::module_& m) {
    m.def(
        "target", [] { return std::string(simd::name_of(simd::chosen_target())); },
        "The instruction set that new models use.");
    m.def("spare_bytes", &spare_bytes, "Bytes of result buffers that all models use again.");
    m.def(
        "environment",
        [](const char* name) {
            const char* const value = std::getenv(name);
            return value == nullptr ? nb::none() : nb::steal(PyUnicode_DecodeFSDefault(value));
        },
        nb::arg("name"), nb::sig("def environment(name: str) -> str | None"),
        "Return a variable of the environment; os.environ takes 0.8 us for one that is not set.");
    m.def(
        "targets",
        [] {
            std::vector<std::string> names;
            for (const simd::Target target : simd::supported_targets()) {
                names.emplace_back(simd::name_of(target));
            }
            return names;
        },
        "Every instruction set that this CPU can run.");
}

}  // namespace tokenmill::bind
