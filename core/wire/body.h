// wire/body: the check that every body of a request goes through before its values are read.
#pragma once

#include <span>
#include <string_view>

#include "wire/wire.h"

namespace tokenmill::wire {

// Checks that a body is one JSON object of UTF-8, and leaves in `found` the values of the members
// `names`; see read::read_object.
[[nodiscard]] BodyFault check_body(Bytes body, std::span<const std::string_view> names,
                                   std::span<read::Value> found, simd::Target target);

}  // namespace tokenmill::wire
