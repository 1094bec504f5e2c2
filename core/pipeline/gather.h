// gather: texts anywhere in memory -> UTF-8 back to back in memory of the caller, on all threads.
// Never allocates for each text. A lone surrogate becomes U+FFFD, and its text is reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/crew.h"
#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// Where each text begins if all of them lie back to back as UTF-8, and where the last one ends.
//   "ab", "\u00e9" (Latin-1), ""  ->  0, 2, 4, 4
[[nodiscard]] std::vector<std::int64_t> utf8_places(std::span<const Text> texts, unsigned threads);

// Texts and their places.
struct PlacedTexts {
    std::span<const Text> texts;
    std::span<const std::int64_t> places;
};

// Writes the texts `begin` to `end` back to back. Returns the numbers of those that hold a lone
// surrogate, in order. Needs: room for places[end] - places[begin] bytes.
std::vector<std::int64_t> gather_texts(const PlacedTexts& from, std::size_t begin, std::size_t end,
                                       std::uint8_t* out, Crew& crew);

// Copies bytes with all threads of a crew.
void copy_bytes(void* target, const void* source, std::size_t size, Crew& crew);

}  // namespace tokenmill::pipeline
