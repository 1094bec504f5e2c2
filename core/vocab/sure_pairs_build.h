// vocab: merges -> pairs of bytes that may be merged before all others. Internal to vocab.
#pragma once

#include <vector>

#include "vocab/walk.h"

namespace tokenmill::vocab {

// By left byte << 8 | right byte; see vocab/sure_pair.h. Needs merges whose parts all have numbers.
[[nodiscard]] std::vector<SurePair> find_sure_pairs(const VocabInput& input,
                                                    const std::vector<Derivation>& kept,
                                                    const Numbering& numbers);

}  // namespace tokenmill::vocab
