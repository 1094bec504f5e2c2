// Ids of a block's documents, some from a device and some from the CPU -> all, with their ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mill/mill.h"
#include "pipeline/pipeline.h"

namespace tokenmill::device {

// Ids of the device as they lie in memory, and where those of each document begin.
struct DeviceIds {
    const std::uint8_t* ids = nullptr;
    std::span<const std::uint32_t> begins;  // one more than documents
};

// Ids of some documents by the CPU; `numbers` rise.
struct ReplacedIds {
    std::vector<std::size_t> numbers;
    pipeline::Encoded encoded;
};

// `most_bytes` of text are in a block. Their memory is the same for most blocks, as in the mill: so
// it is used again.
[[nodiscard]] mill::BlockIds join(const DeviceIds& device, const ReplacedIds& replaced,
                                  const mill::BlockRules& rules, std::size_t most_bytes);

}  // namespace tokenmill::device
