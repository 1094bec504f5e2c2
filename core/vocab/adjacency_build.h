// Learns from the tokens which neighbours they join. Indoors of vocab.
#pragma once

#include <set>
#include <utility>

#include "base/adjacency.h"
#include "base/types.h"

namespace tokenmill::vocab {

class AdjacencyBuilder {
public:
    void add_token(Bytes token);
    // Bytes that are joined with every other such byte.
    void add_unknown(std::uint8_t byte) { has_unknown_[number_of(byte)] = true; }
    [[nodiscard]] Adjacency finish() const;

private:
    static std::size_t number_of(std::uint8_t byte) {
        return static_cast<std::size_t>(class_of_byte(byte));
    }

    std::set<std::pair<std::uint8_t, std::uint8_t>> pairs_;
    bool has_unknown_[kByteClasses] = {};
};

}  // namespace tokenmill::vocab
