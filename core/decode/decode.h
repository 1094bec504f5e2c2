// decode: token ids -> bytes. One look-up for each id; an unknown id is an error, never a gap.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"
#include "vocab/vocab.h"

namespace tokenmill::decode {

// Appends the bytes of `ids` to `out`. Throws Error(IdOutOfRange) with the position of the id.
//   [15496, 995] -> "Hello world"
void append_bytes(const vocab::VocabView& vocab, std::span<const TokenId> ids, std::string& out);

}  // namespace tokenmill::decode
