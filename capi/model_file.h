// model_file: the bytes of a `.mill` file -> the compiled model in it, every byte verified.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace tokenmill::capi {

inline constexpr std::size_t kModelPage = 4096;  // the model begins here

// `source` names the file in errors. Throws CallError: CORRUPT_MODEL if one bit is not as it was
// written, UNSUPPORTED for the compressed form.
[[nodiscard]] Bytes payload_of(Bytes file, const std::string& source);

// The other way round: the page that goes before a compiled model.
[[nodiscard]] std::vector<std::uint8_t> header_of(Bytes payload);

}  // namespace tokenmill::capi
