// counts: what the engine counted -> values of Python.
#pragma once

#include "base/counters.h"
#include "bind.h"

namespace tokenmill::bind {

// {"stages": {name: (seconds, bytes)}, "words": {...}, "calls": ..., "documents": ...}
[[nodiscard]] nb::dict dict_of(const CounterValues& values);

// Owners of memory by name, in bytes.
[[nodiscard]] nb::dict memory_of(const pipeline::MemoryUse& use);

}  // namespace tokenmill::bind
