// mapping: the text of one token -> what a step makes of it, without a look at its neighbours.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/decode.h"

namespace tokenmill::decode {

using TextPair = std::pair<std::string_view, std::string_view>;

// The clean-up of English spacing: which text is replaced by which, in this order. Steps do the
// first to every token; the option `clean_up` does the second to the whole text.
[[nodiscard]] std::span<const TextPair> token_clean_up() noexcept;
[[nodiscard]] std::span<const TextPair> text_clean_up() noexcept;

// Every occurrence; an empty text occurs around every character.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view old,
                                   std::string_view by);

enum class ChangeKind : std::uint8_t {
    Strip,         // the character `a`, at most `left` and `right` times
    Replace,       // `a` by `b`
    ReplaceIfAny,  // the same, but a text of size 0 stays so
    CutPrefix,     // `a` if the text begins with it, else a blank in front
    Blank,         // a blank in front
    CleanUp,
};
// One change of a text, as data.
struct TokenChange {
    ChangeKind kind;
    std::string a;
    std::string b;
    std::size_t left = 0;
    std::size_t right = 0;
};
using Mapping = std::vector<TokenChange>;

[[nodiscard]] std::string mapped(const Mapping& mapping, std::string text);

// "<0x41>" -> 0x41; -1 for other texts. A sign counts as a digit: "<0x+A>" is the byte 10.
[[nodiscard]] int byte_of(std::string_view token) noexcept;

// The bytes that a token spells in the byte-level alphabet; its own UTF-8 if it has another
// character.
[[nodiscard]] std::string bytes_spelled(std::string_view token);

}  // namespace tokenmill::decode
