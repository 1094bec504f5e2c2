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

enum class JsonType : std::uint8_t { Null, False, True, Whole, Fraction, String, Array, Object };

// One value of a JSON document. The values inside an array or an object follow it, in their order;
// a member of an object is its name and then its value.
struct JsonNode {
    JsonType type = JsonType::Null;
    bool has_escapes = false;  // of a string
    std::uint32_t begin = 0;   // in the body; of a string, after its quote
    std::uint32_t size = 0;    // bytes of a number or a string, values or members of a container
};
// More would take more memory than any conversation needs: an empty array is two bytes of a body,
// and tens of them for those who keep it.
inline constexpr std::size_t kMaxNodes = std::size_t{1} << 22;

struct JsonDocument {
    BodyFault fault;
    std::vector<JsonNode> nodes;
};
//   {"a": [1]}  ->  object of 1, string a, array of 1, whole number 1
[[nodiscard]] JsonDocument read_document(Bytes body, simd::Target target);

// A request of HTTP/1.1 that came in one piece; a header that it does not have is empty.
struct WholeRequest {
    Bytes method, path, accept, authorization, content_type, body;
};
// Reads what nearly all clients send: GET or POST, a short head with nothing unusual in it, a body
// of the given length of at most `most_body` bytes, and no byte after it. Nothing for all else,
// which a full parser has to judge: other methods, chunks, `Expect`, the end of a connection, half
// a request, two of them, and every fault.
[[nodiscard]] std::optional<WholeRequest> read_whole_request(Bytes data,
                                                             std::size_t most_body) noexcept;

// Bytes of a JSON array of ids, and the array itself; returns the place after it.
//   1, 23  ->  [1,23]
[[nodiscard]] std::size_t ids_size(std::span<const TokenId> ids) noexcept;
std::uint8_t* write_ids(std::span<const TokenId> ids, std::uint8_t* out) noexcept;

// The same for an array of arrays: row i is ids[ends[i] .. ends[i + 1]).
//   1, 23, 4 with 0, 2, 3  ->  [[1,23],[4]]
// Needs: `ends` rises from 0 or more to the number of ids or less, and is not empty.
[[nodiscard]] std::size_t rows_size(std::span<const TokenId> ids,
                                    std::span<const std::int64_t> ends) noexcept;
std::uint8_t* write_rows(std::span<const TokenId> ids, std::span<const std::int64_t> ends,
                         std::uint8_t* out) noexcept;

// Bytes of a JSON string with its quotes, and the string itself. Only what JSON demands is escaped.
// Needs: valid UTF-8.
//   a"b  ->  "a\"b"
[[nodiscard]] std::size_t string_size(Bytes text) noexcept;
std::uint8_t* write_string(Bytes text, std::uint8_t* out) noexcept;

}  // namespace tokenmill::wire
