// Words with one U+0020 before each: " a\t\tb " -> " a b".
#pragma once

#include "base/types.h"
#include "normalize/normalize.h"

#include <vector>

namespace tokenmill::normalize {

// Every run of white space becomes one U+0020; there is one before the first word and none behind
// the last.
void squeeze(Bytes text, std::vector<std::uint8_t>& out);

// The same with spans; the space before a word stands for the word's first character, as what the
// reference puts in front of a word does.
void squeeze(Bytes text, const Span* spans, AlignedText& out);

}  // namespace tokenmill::normalize
