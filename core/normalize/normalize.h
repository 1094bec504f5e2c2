// normalize: text -> rewritten text, by a program that a compiled model carries. Bit for bit what
// the reference normalizers give. is_identity() is the quick way out: most text is not changed by
// most programs, and then it need not be copied. Input is valid UTF-8, and so is the output.
#pragma once

#include "base/types.h"

#include <cstdint>
#include <vector>

namespace tokenmill::normalize {

enum class Kind : std::uint8_t {  // the values are part of the model file
    Nfc = 1,
    Nfd = 2,
    Nfkc = 3,
    Nfkd = 4,
    Lowercase = 5,     // each character for itself: no final sigma
    StripAccents = 6,  // removes combining marks, and decomposes nothing
    Strip = 7,         // white space on the named sides
    Replace = 8,       // `from`, literally, leftmost first, becomes `to`
    Prepend = 9,       // `to` goes in front of text that is not empty
};

struct Step {
    Kind kind = Kind::Nfc;
    bool left = false;
    bool right = false;
    std::vector<std::uint8_t> from;
    std::vector<std::uint8_t> to;
};

// Steps in the order of their work; no steps leave every text alone. `char_mask` is the union of
// the flags of characters that a step may change (unicode::kNotNfc and so on).
struct Program {
    std::vector<Step> steps;
    std::uint16_t char_mask = 0;
};

// Flags of the characters that a step of this kind may change; 0 when it is not about characters.
[[nodiscard]] std::uint16_t mask_of(Kind kind) noexcept;

// Reads the serialized form: per step a byte of its kind, then for Strip a byte (1 left, 2 right),
// for Replace and Prepend their texts, each behind its size as four bytes, low byte first.
// Throws Error{CorruptModel} with the offset of the fault.
[[nodiscard]] Program parse_program(Bytes serialized);

// True only if run() would give back `text` unchanged; false where that is not certain.
//   NFC: "caf\u00E9" -> true, "cafe\u0301" -> false
[[nodiscard]] bool is_identity(const Program& program, Bytes text) noexcept;

// Replaces the content of `out` by the rewritten text.  Needs: `out` is not the text's owner.
//   NFC: "cafe\u0301" -> "caf\u00E9"
void run(const Program& program, Bytes text, std::vector<std::uint8_t>& out);

}  // namespace tokenmill::normalize
