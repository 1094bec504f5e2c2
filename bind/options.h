// options: the numbers that Python calls with -> options of the core. Checked here, so that no enum
// ever holds another value.
#pragma once

#include "pipeline/pipeline.h"

namespace tokenmill::bind {

// Texts of up to so many units are encoded faster than the GIL is released and taken.
constexpr std::size_t kKeepGil = std::size_t{1} << 13;

// All throw BadArgument for a number that has no meaning.
[[nodiscard]] pipeline::Options options_of(bool add_special_tokens, int special_mode, int errors,
                                           const Stop* stop, int threads = 1);
[[nodiscard]] pipeline::SpecialMode special_mode_of(int number);
[[nodiscard]] unsigned bits_of(int bits);
// 0, 1 or 2: usual, small or tiny. `shrink`, for tests: large tables from the first text on, but so
// small that words replace each other all the time.
[[nodiscard]] pipeline::Tables tables_of(int shrink, int size);

}  // namespace tokenmill::bind
