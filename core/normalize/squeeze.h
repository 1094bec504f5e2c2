// normalize/squeeze: text -> its words with one U+0020 before each: " a\t\tb " -> " a b".
#pragma once

#include <vector>

#include "base/types.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

// Every run of white space becomes one U+0020; there is one before the first word and none after
// the last.
void squeeze(Bytes text, Buffer& out, const Stop* stop);

// The same with spans. The origin of the space before a word is the word's first character, as in
// the reference.
void squeeze(Bytes text, const Span* spans, AlignedText& out, const Stop* stop);

}  // namespace tokenmill::normalize
