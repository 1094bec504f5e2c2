// wire_tools: what the bindings of core/wire share.
#pragma once

#include <optional>

#include "bind.h"
#include "simd/target.h"

namespace tokenmill::bind {

// Less is done before another thread could take the GIL.
inline constexpr std::size_t kReleaseBytes = std::size_t{1} << 15;

[[nodiscard]] inline simd::Target wire_target() {
    static const simd::Target chosen = simd::chosen_target();
    return chosen;
}

// Runs `work` without the GIL if it is long enough.
template <typename Work>
auto run_unlocked(std::size_t size, Work work) {
    std::optional<nb::gil_scoped_release> unlocked;
    if (size > kReleaseBytes) {
        unlocked.emplace();
    }
    return work();
}

}  // namespace tokenmill::bind
