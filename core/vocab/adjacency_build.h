// vocab: tokens -> which neighbours they join. Internal to vocab.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "base/adjacency.h"
#include "base/types.h"

namespace tokenmill::vocab {

class AdjacencyBuilder {
public:
    void add_token(Bytes token);
    [[nodiscard]] Adjacency finish() const;
    // Joins two neighbours as well if neither is a token.
    [[nodiscard]] InsideCuts finish_inside(const std::vector<bool>& is_token) const;

private:
    static std::size_t number_of(std::uint8_t byte) {
        return static_cast<std::size_t>(class_of_byte(byte));
    }

    std::set<std::pair<std::uint8_t, std::uint8_t>> pairs_;
    std::set<std::pair<std::uint8_t, std::uint8_t>> characters_;  // the same of first bytes alone
};

}  // namespace tokenmill::vocab
