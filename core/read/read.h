// read: raw bytes of a file -> texts back to back, and a reason for every record that has none.
// No file is opened here; every function is pure and runs on one thread. JSON is checked in full.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/types.h"
#include "read/value.h"
#include "simd/target.h"

namespace tokenmill::read {

// Why a record is not a document; the numbers are those of REASONS in the Python package.
enum class Reason : std::uint8_t {
    BadJson,
    MissingField,
    NullField,
    WrongType,
    BadUtf8,
    LoneSurrogate,
    EmptyText,
    TooLong,
    Blank = 254,  // white space only, where that is not a record
    None = 255,   // it is a document
};

struct Rules {
    std::string field;  // a key, or keys with dots between them
    std::size_t max_document_bytes = std::size_t{1} << 30;
    std::size_t max_line_bytes = std::size_t{1} << 31;  // a longer line is not parsed
    bool replace_bad_utf8 = false;        // by U+FFFD for each maximal ill-formed part
    bool replace_lone_surrogate = false;  // by U+FFFD
};

// Texts back to back: text i is [offsets[i], offsets[i + 1]).
class JoinedTexts {
public:
    // Room for `more` bytes, and for stores that run over their end.
    [[nodiscard]] std::uint8_t* reserve(std::size_t more);
    void add(std::size_t size) {
        used_ += size;
        offsets.push_back(static_cast<std::int64_t>(used_));
    }
    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    [[nodiscard]] PageBuffer take_memory() noexcept { return std::move(memory_); }

    std::vector<std::int64_t> offsets = {0};

private:
    PageBuffer memory_;
    std::size_t used_ = 0;
};

struct BadLine {
    std::int64_t line;    // from 0
    std::int64_t begin;   // of its first byte
    std::int64_t length;  // without its newline
    std::int64_t fault;   // byte of the line at which it is wrong
    Reason reason;
};

// `lines` (from 0) and `begins`: number and first byte of each text's line.
struct JsonlDocuments {
    JoinedTexts texts;
    std::vector<std::int64_t> lines;
    std::vector<std::int64_t> begins;
    std::vector<BadLine> bad;
    std::int64_t line_count = 0;
    std::int64_t blank_lines = 0;          // white space only: not records
    std::int64_t repaired_utf8 = 0;        // documents whose line was not UTF-8
    std::int64_t repaired_surrogates = 0;  // documents with lone surrogates
};

// JSON values, one per line; the last line may lack its newline.
//   {"text": "a\u0062"}\n  with field "text"  ->  "ab"
[[nodiscard]] JsonlDocuments read_jsonl(Bytes buffer, const Rules& rules, simd::Target target);

// What a whole body of JSON is: an object, or where it stops being JSON.
struct ObjectCheck {
    const std::uint8_t* fault = nullptr;
    bool is_object = false;
};
// Checks one JSON object in full and leaves in `found` the values of the members `names`; of a
// member that comes twice, the last. A container's value has its beginning only. Needs: valid
// UTF-8.
//   {"a": 1, "b": "x"}  with names "b", "c"  ->  the string x, nothing
[[nodiscard]] ObjectCheck read_object(Bytes body, std::span<const std::string_view> names,
                                      std::span<Value> found, simd::Target target);

struct Unescaped {
    std::size_t size;
    const std::uint8_t* lone_surrogate;  // the first one, or nullptr
};
// Writes the text of a string of a checked body, U+FFFD for lone surrogates.
// Needs: room for the bytes between its quotes and kUnescapeSlack more.
inline constexpr std::size_t kUnescapeSlack = 64;
[[nodiscard]] Unescaped unescape(const Value& string, std::uint8_t* out,
                                 simd::Target target) noexcept;
[[nodiscard]] bool is_utf8(Bytes bytes, simd::Target target) noexcept;

// Places of texts in a buffer.
struct Ranges {
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
};

// Lines without "\n" or "\r\n"; nothing after the last newline is not a line.
[[nodiscard]] Ranges split_lines(Bytes buffer);
// The pieces between separators, found from the left; the rest after the last one is a piece too.
[[nodiscard]] Ranges split_at(Bytes buffer, Bytes separator);
// The end of the last separator that split_at finds (0 if there is none), and how many there are.
struct Cut {
    std::size_t end;
    std::size_t count;
};
[[nodiscard]] Cut last_cut(Bytes buffer, Bytes separator, simd::Target target) noexcept;

// For each text whether it is not empty, not too long, and UTF-8; and not blank if asked for.
[[nodiscard]] std::vector<Reason> check_texts(Bytes buffer, const Ranges& ranges,
                                              std::size_t max_document_bytes, bool skip_blank,
                                              simd::Target target);
// Copies texts back to back, ill-formed parts replaced by U+FFFD.
[[nodiscard]] JoinedTexts join_texts(Bytes buffer, const Ranges& ranges, simd::Target target);
// True for texts of nothing but white space (ASCII).
[[nodiscard]] bool is_blank(Bytes text) noexcept;

}  // namespace tokenmill::read
