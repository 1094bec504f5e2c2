// utf8_text: bytes that come in pieces -> well-formed text.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace tokenmill::decode {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Kind : std::uint8_t {
    Whole,       // a character
    Broken,      // the longest beginning of one that no byte can complete
    Incomplete,  // the same, cut short by the end of the bytes
};
// What some bytes begin with.
struct Utf8Piece {
    Utf8Kind kind;
    std::size_t size;
};
// Needs: bytes that are not empty.
[[nodiscard]] Utf8Piece first_piece(std::string_view bytes) noexcept;

[[nodiscard]] bool is_well_formed(std::string_view bytes) noexcept;

// Joins bytes to text, with one U+FFFD for each broken beginning. Holds back an incomplete one.
class Utf8Joiner {
public:
    void feed(std::string_view bytes, std::string& out);
    void finish(std::string& out);

private:
    // Writes what is certain of `bytes` and returns how many that were.
    static std::size_t write(std::string_view bytes, std::string& out);
    std::string held_;
};

}  // namespace tokenmill::decode
