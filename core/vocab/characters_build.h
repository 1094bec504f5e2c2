// vocab: what single characters become -> sections by basic code point, so that a character by
// itself needs neither a search nor merging. Internal to vocab.
#pragma once

#include "vocab/walk.h"

namespace tokenmill::vocab {

// ModelKind::Characters: kCharSymbols and kCharValues, for characters of two and three bytes.
void write_characters(const VocabInput& input, const Walk& walk, const Numbering& numbers,
                      BlobWriter& out);

// ModelKind::WordPiece: kCharValues, for words that are one character of three bytes: a token or
// the unknown one. Nothing where such words may have other ids.
void write_words_of_one(const VocabInput& input, const std::vector<TrieNode>& nodes,
                        BlobWriter& out);

}  // namespace tokenmill::vocab
