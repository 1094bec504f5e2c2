// read/kernel: what is compiled once per target. Inside the room only.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/read.h"
#include "read/value.h"

namespace tokenmill::read {

// The wanted field. At level i, inside the objects of the keys before, `keys[i]` leads one level
// down and `rests[i]`, all keys from there on with their dots, is the field itself.
struct FieldPath {
    explicit FieldPath(const std::string& field);
    std::vector<std::string> keys;
    std::vector<std::string> rests;
    std::vector<Value> found;            // by level, for one line
    std::vector<std::uint8_t> key_text;  // of a key with escapes
    const Value* written = nullptr;      // the value whose text was written on the way
    Unescaped text = {};                 // and what was written
};

// The wanted members of one object; `key_text` is for keys with escapes.
struct Members {
    std::span<const std::string_view> names;
    std::span<Value> found;
    std::vector<std::uint8_t> key_text;
};

struct Scan {
    const std::uint8_t* fault = nullptr;  // where the line stops being JSON
    bool is_object = false;
};

struct ReadKernel {
    // Checks one line and leaves the field's value in `path.found`. Memory may be read up to
    // `readable`; if that is further than `end`, a byte that ends any string is at `end`. `out` has
    // room for the line and 64 bytes: the text is written on the way, which saves a second pass.
    Scan (*scan_line)(const std::uint8_t* begin, const std::uint8_t* end,
                      const std::uint8_t* readable, FieldPath& path, std::uint8_t* out);
    // The same for the members of one object; no byte at or after `end` is read.
    Scan (*scan_members)(const std::uint8_t* begin, const std::uint8_t* end, Members& members);
    // Writes a string that was scanned, U+FFFD for lone surrogates. `out` has room for its length
    // and 64 bytes.
    Unescaped (*unescape)(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out);
    bool (*is_utf8)(const std::uint8_t* begin, const std::uint8_t* end);
    std::size_t (*count_newlines)(const std::uint8_t* begin, const std::uint8_t* end);
};

extern const ReadKernel kScalarKernel;
extern const ReadKernel kAvx2Kernel;
extern const ReadKernel kAvx512Kernel;
extern const ReadKernel kNeonKernel;
[[nodiscard]] const ReadKernel& kernel_of(simd::Target target) noexcept;

using ByteTable = std::array<std::uint8_t, 256>;
extern const ByteTable kEscapes;    // escape_of
extern const ByteTable kHexDigits;  // hex_digit

}  // namespace tokenmill::read
