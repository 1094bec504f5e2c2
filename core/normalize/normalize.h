// normalize: text -> rewritten text, by a program that a compiled model carries. Bit for bit what
// the reference normalizers give. is_identity() is the quick way out: most text is not changed by
// most programs, and then it need not be copied. Input is valid UTF-8, and so is the output.
#pragma once

#include "base/types.h"

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tokenmill::normalize {

enum class Kind : std::uint8_t {  // the values are part of the model file
    Nfc = 1,
    Nfd = 2,
    Nfkc = 3,
    Nfkd = 4,
    Lowercase = 5,         // each character for itself: no final sigma
    StripAccents = 6,      // removes combining marks, and decomposes nothing
    Strip = 7,             // white space on the named sides
    Replace = 8,           // `from`, literally, leftmost first, becomes `to`
    Prepend = 9,           // `to` goes in front of text that is not empty
    Clean = 10,            // removes controls, makes white space U+0020
    SpaceIdeographs = 11,  // a space on both sides of every ideograph
    StripNonspacing = 12,  // removes marks of no width alone
    Nmt = 13,              // removes some controls, makes other characters U+0020
    ByteLevel = 14,        // every byte becomes its printable stand-in
    CharsMap = 15,         // short clusters and characters by a trie of replacements
    ReplacePattern = 16,   // every match of a regular expression becomes `to`
    Squeeze = 17,          // words with one U+0020 before each, and nothing else
    Sentence = 18,         // the longest keys of a map, and rules for blanks: a whole normalizer
};

class CharsMap;
class Pattern;
class Sentence;
class Memo;

struct Step {
    Kind kind = Kind::Nfc;
    bool left = false;
    bool right = false;
    std::vector<std::uint8_t> from;
    std::vector<std::uint8_t> to;
    std::shared_ptr<const CharsMap> chars_map;
    std::shared_ptr<const Pattern> pattern;
    std::shared_ptr<const Sentence> sentence;
};

// Neighbouring steps that are done in one pass over the text: those that look at one character and
// its neighbours share a memo, which knows what becomes of a character that stands alone.
struct Stage {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::shared_ptr<const Memo> memo;  // null: a single step, done for itself
};

// Steps in the order of their work; no steps leave every text alone.
struct Program {
    std::vector<Step> steps;
    std::vector<Stage> stages;
};

// The bytes of the original text that a byte of the rewritten one stands for.
struct Span {
    std::uint32_t begin;
    std::uint32_t end;
};

// Growing a vector of spans leaves the new ones as they are: they are written over anyway.
template <typename T>
struct RawAllocator : std::allocator<T> {
    template <typename U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Args>
    void construct(U* at, Args&&... args) {
        ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
    }
};
using Spans = std::vector<Span, RawAllocator<Span>>;

struct AlignedText {
    std::vector<std::uint8_t> text;
    Spans spans;  // one for every byte of `text`
};

// Reads the serialized form: per step a byte of its kind, then for Strip a byte (1 left, 2 right),
// for Replace, ReplacePattern and Prepend their texts, for CharsMap and ReplacePattern their
// tables, each behind its size as four bytes, low byte first; for Sentence a byte of flags, its map
// (of no bytes where there is none), and as one more table the texts that stay as they are.
// Throws Error{CorruptModel} with the offset of the fault.
[[nodiscard]] Program parse_program(Bytes serialized);

// True only if run() would give back `text` unchanged; false where that is not certain.
//   NFC: "caf\u00E9" -> true, "cafe\u0301" -> false
[[nodiscard]] bool is_identity(const Program& program, Bytes text);

// True only if is_identity() is true of every part of `text`: where all there is to do is to
// replace literals, and it has none of them.
[[nodiscard]] bool keeps_parts(const Program& program, Bytes text);

// Replaces the content of `out` by the rewritten text.  Needs: `out` is not the text's owner.
//   NFC: "cafe\u0301" -> "caf\u00E9"
void run(const Program& program, Bytes text, std::vector<std::uint8_t>& out);

// The same with the origin of every byte, as the reference's offsets have it: what is replaced
// stands for the last character it replaces, what is inserted for the character before it.
// Needs: text.size() < 2^32.
//   NFC: "cafe\u0301" -> "caf\u00E9", spans (0,1) (1,2) (2,3) (3,4) (3,4)
void run_aligned(const Program& program, Bytes text, AlignedText& out);

}  // namespace tokenmill::normalize
