// base/ticks: a clock for inner loops. It counts in units of its own, at a constant rate, and
// reading it takes a few nanoseconds and no call of the system.
#pragma once

#include <cstdint>

#include "base/platform.h"

#if !TOKENMILL_X86_64 && !TOKENMILL_AARCH64
#include <chrono>
#endif

namespace tokenmill {

using Ticks = std::uint64_t;

[[nodiscard]] inline Ticks read_ticks() noexcept {
#if TOKENMILL_X86_64
    return __builtin_ia32_rdtsc();
#elif TOKENMILL_AARCH64
    Ticks now = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return static_cast<Ticks>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// From one reading to a later one. Processors may disagree by a little: then nothing has passed.
[[nodiscard]] inline Ticks ticks_between(Ticks begin, Ticks end) noexcept {
    return end > begin ? end - begin : 0;
}

// The rate of the clock, measured against the clock of the system from the start of the program.
[[nodiscard]] double seconds_per_tick() noexcept;

}  // namespace tokenmill
