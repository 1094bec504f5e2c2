// split/pairs: which neighbours belong together -> tables for whole blocks. Internal to split.
#pragma once

#include "base/adjacency.h"
#include "simd/masks.h"

namespace tokenmill::split {

// Fills `tables`: `first` for words, `second` for pairs of classes that need no look-up inside a
// word. Without exceptions, bit k of a left neighbour is its ByteClass. False if the tables have no
// room for all exceptions; then they must not be used.
[[nodiscard]] bool make_pair_tables(const Adjacency& adjacency, const InsideCuts& inside,
                                    simd::PairTables& tables);

}  // namespace tokenmill::split
