// The three-byte characters of a block, with SIMD128. Text inside a target's namespace; the rest is
// in chars3_vector128-inl.h.

// SIMD128 shifts all numbers of a vector by the same count: pairs are looked up one by one.
template <typename Junctions>
inline void paired_in_run(const std::uint16_t* /*code*/, const Junctions& /*junctions*/,
                          std::uint8_t* /*out*/) noexcept {}
constexpr unsigned kLeastRun = 64;  // more than a block has

#include "split/chars3_vector128-inl.h"
