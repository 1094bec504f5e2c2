// mill: raw bytes of a file -> ids of their documents, ends included, without a stop in between.
// Reads, encodes and joins in steps that stay in the cache, so the texts of a block never lie in
// memory as a whole. Pure, and on one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/counters.h"
#include "base/types.h"
#include "pipeline/pipeline.h"
#include "read/read.h"

namespace tokenmill::mill {

struct BlockRules {
    read::Rules read;  // of lines
    pipeline::SpecialMode special = pipeline::SpecialMode::Encode;
    unsigned bits = 32;           // of an id in the result: 32 or 16
    std::vector<TokenId> before;  // ids that go in front of each document
    std::vector<TokenId> after;   // and after it
    std::size_t step_bytes = std::size_t{1} << 19;
};

// Document i has `lengths[i]` ids, ends included.
struct BlockIds {
    PageBuffer ids;
    std::size_t count = 0;
    std::vector<std::int64_t> lengths;
};

// `documents` has everything but the texts.
struct JsonlIds {
    BlockIds block;
    read::JsonlDocuments documents;
};

// What read::read_jsonl() and Model::encode_batch() give one after the other.
//   {"text": "a b"}\n  with 9 after each document  ->  ids of "a", " b", and 9
// Throws their errors; a document's number in one counts from its step.
// `counts`, unless it is null, gets what the call counts, the reading included.
[[nodiscard]] JsonlIds encode_jsonl(const pipeline::Model& model, Bytes buffer,
                                    const BlockRules& rules, CallCounts* counts = nullptr);

// The same for texts that were read already: text i is [offsets[i], offsets[i + 1]) of `text`, and
// known to be UTF-8.
[[nodiscard]] BlockIds encode_texts(const pipeline::Model& model, const std::uint8_t* text,
                                    std::span<const std::int64_t> offsets, const BlockRules& rules,
                                    CallCounts* counts = nullptr);

}  // namespace tokenmill::mill
