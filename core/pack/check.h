// What every way to pack asks of its arguments.
#pragma once

#include <cstdint>

#include "pack/pack.h"

namespace tokenmill::pack {

// Throws BadArgument unless it is at least 1.
void check_context_length(std::int64_t context_length);

// Throws BadArgument unless it is at least 1 and at most kMaxFitLength.
void check_fit_length(std::int64_t context_length);

// The tokens of all documents; throws BadArgument for a length below 0 and for a sum that 64 bits
// cannot hold.
[[nodiscard]] std::int64_t sum_of(Lengths lengths);

}  // namespace tokenmill::pack
