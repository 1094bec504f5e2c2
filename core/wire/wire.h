// wire: the bytes of a service's request -> its fields, and ids and texts -> the bytes of an
// answer, as JSON. A body is checked in full, in one pass, without recursion; members that nobody
// asked for are ignored, and of a member that comes twice the last counts. No text is copied here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "read/read.h"
#include "simd/target.h"

namespace tokenmill::wire {

// What is wrong with a request: the byte of the body, the member if it is one's value, and why.
struct BodyFault {
    std::size_t position = 0;
    std::string member;
    std::string what;  // empty: nothing is wrong
};

// A request for ids. The strings are those of the body, their escapes still in them.
struct TokenizeBody {
    BodyFault fault;
    std::optional<read::Value> model;
    std::vector<read::Value> prompts;
    bool has_prompt = false;
    bool is_list = false;       // several prompts in an array
    bool has_messages = false;  // a conversation, which a template turns into a text
    std::optional<bool> add_special_tokens;
    bool return_token_strs = false;
};
[[nodiscard]] TokenizeBody read_tokenize(Bytes body, simd::Target target);

// A request for the text of ids; row i is ids[ends[i] .. ends[i + 1]).
struct DetokenizeBody {
    BodyFault fault;
    std::optional<read::Value> model;
    std::vector<TokenId> ids;
    std::vector<std::int64_t> ends = {0};
    bool is_nested = false;  // an array of arrays
    std::optional<bool> skip_special_tokens;
};
[[nodiscard]] DetokenizeBody read_detokenize(Bytes body, simd::Target target);

// Bytes of a JSON array of ids, and the array itself; returns the place after it.
//   1, 23  ->  [1,23]
[[nodiscard]] std::size_t ids_size(std::span<const TokenId> ids) noexcept;
std::uint8_t* write_ids(std::span<const TokenId> ids, std::uint8_t* out) noexcept;

// Bytes of a JSON string with its quotes, and the string itself. Only what JSON demands is escaped.
// Needs: valid UTF-8.
//   a"b  ->  "a\"b"
[[nodiscard]] std::size_t string_size(Bytes text) noexcept;
std::uint8_t* write_string(Bytes text, std::uint8_t* out) noexcept;

}  // namespace tokenmill::wire
