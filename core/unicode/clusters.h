// unicode/clusters: text -> the end of one character as a reader sees it. The classes are measured
// on the reference's own segmentation (tools/gen_clusters.py); it appears to be Unicode 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unicode/generated/cluster_tables.h"

namespace tokenmill::unicode {

// Pages of 64 characters share all but the last byte of their UTF-8.
template <typename Page, std::size_t kPages, typename Value, std::size_t kValues>
[[nodiscard]] inline Value look_up(const Page (&pages)[kPages], const Value (&blocks)[kValues],
                                   char32_t point) noexcept {
    const std::size_t page = point >> 6 < kPages ? point >> 6 : kPages - 1;
    return blocks[std::size_t{pages[page]} << 6 | (point & 0x3F)];
}

enum class ClusterClass : std::uint8_t {  // as in tools/gen_clusters.py
    Other,
    Control,
    Return,
    Newline,
    Extend,    // joins the character before it, and ends a conjunct
    Conjoins,  // joins the character before it, also within a conjunct
    Linker,    // makes a conjunct of the consonants on both sides
    Joiner,    // U+200D
    Spacing,
    Prepend,  // joins what follows
    Lead,
    Vowel,
    Tail,
    OpenSyllable,
    ClosedSyllable,
    Pictograph,
    Consonant,
};

[[nodiscard]] inline ClusterClass cluster_class(char32_t point) noexcept {
    return static_cast<ClusterClass>(look_up(tables::kClusterPages, tables::kClusterBlocks, point));
}

// Whether the character may share a cluster with a neighbour. If this is false for two neighbours,
// a cluster ends between them, whatever is around them.
[[nodiscard]] bool joins_clusters(char32_t point) noexcept;

// End of the extended grapheme cluster that starts at `at`.  Needs: valid UTF-8, at != end.
[[nodiscard]] const std::uint8_t* cluster_end(const std::uint8_t* at,
                                              const std::uint8_t* end) noexcept;

}  // namespace tokenmill::unicode
