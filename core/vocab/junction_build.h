// vocab: tokens -> a JunctionFilter. Internal to vocab.
#pragma once

#include <set>
#include <unordered_set>
#include <vector>

#include "base/blob.h"
#include "base/types.h"

namespace tokenmill::vocab {

class JunctionBuilder {
public:
    void add_token(Bytes token);
    // A character of three bytes that is joined with every other such character.
    void add_unknown(std::uint32_t code);
    // Without `can_cut` the filter calls everything joined.
    void write(bool can_cut, BlobWriter& out) const;
    // The neighbours of whole characters that add_token saw, for a vocabulary over characters.
    void write_sides(bool can_cut, BlobWriter& out) const;

private:
    void add_part(Bytes left, Bytes right);
    void add_sides(Bytes token);

    std::unordered_set<std::uint32_t> pairs_;  // left << 16 | right
    std::unordered_set<std::uint64_t> parts_;  // JunctionFilter::part_key
    // Left and right sides of partial contexts by kind: full|prefix, suffix|full, suffix|prefix.
    std::unordered_set<std::uint32_t> left_[3];
    std::unordered_set<std::uint32_t> right_[3];
    std::vector<std::uint8_t> sides_ = std::vector<std::uint8_t>(65536, 0);  // CharSide
    std::vector<bool> unknown_;  // by code; empty for none
};

}  // namespace tokenmill::vocab
