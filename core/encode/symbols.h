// encode: a word -> the symbols that merging starts from, bytes or characters; and back.
#pragma once

#include <span>
#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "encode/look_up.h"
#include "vocab/vocab.h"

namespace tokenmill::encode {

constexpr std::uint32_t kUnknown = vocab::kIdMask;  // a symbol that merges with nothing

// Internal ids of the symbols of `word`, replacing what `symbols` held.
void start_symbols(const vocab::VocabView& vocab, Bytes word, const Stop* stop,
                   std::vector<std::uint32_t>& symbols);

// How many symbols a token is made of.
[[nodiscard]] std::size_t symbol_count(const vocab::VocabView& vocab,
                                       std::uint32_t internal) noexcept;

// The symbols a token is made of, appended.
void append_symbols(const vocab::VocabView& vocab, std::uint32_t internal,
                    std::vector<std::uint32_t>& symbols);

// Replaces `parts` by the parts of a word that its ids stand for. Needs: at least one id, and a
// vocabulary over bytes or one that drops nothing.
void measure_parts(const vocab::VocabView& vocab, Bytes word, std::span<const TokenId> ids,
                   std::vector<WordPart>& parts);

// Internal ids become external ones in place.
void to_external(const vocab::VocabView& vocab, std::vector<std::uint32_t>& ids) noexcept;

}  // namespace tokenmill::encode
