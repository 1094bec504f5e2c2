// normalize: text -> rewritten text, by a program in the compiled model. Bit for bit what the
// reference normalizers return. Most programs leave most text alone: is_identity() finds that out
// without a copy. Input is valid UTF-8, and so is the output.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "base/types.h"

namespace tokenmill::normalize {

enum class StepKind : std::uint8_t {  // the values are part of the model file
    Nfc = 1,
    Nfd = 2,
    Nfkc = 3,
    Nfkd = 4,
    Lowercase = 5,         // each character alone: no final sigma
    StripAccents = 6,      // removes combining marks, and decomposes nothing
    Strip = 7,             // white space on the named sides
    Replace = 8,           // `from`, literally, leftmost first, becomes `to`
    Prepend = 9,           // `to` is put before text that is not empty
    Clean = 10,            // removes controls, makes white space U+0020
    SpaceIdeographs = 11,  // a space on both sides of every ideograph
    StripNonspacing = 12,  // removes only marks of no width
    Nmt = 13,              // removes some controls, makes other characters U+0020
    ByteLevel = 14,        // every byte becomes a printable character
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
    StepKind kind = StepKind::Nfc;
    bool left = false;
    bool right = false;
    std::vector<std::uint8_t> from;
    std::vector<std::uint8_t> to;
    std::shared_ptr<const CharsMap> chars_map;
    std::shared_ptr<const Pattern> pattern;
    std::shared_ptr<const Sentence> sentence;
};

// Neighbouring steps that run in one pass over the text. Steps that look at one character and its
// neighbours share a memo, which knows the result for a character without such neighbours.
struct StepGroup {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::shared_ptr<const Memo> memo;  // null: a single step, run by itself
};

// Steps in the order in which they run; without steps every text stays as it is.
struct Program {
    std::vector<Step> steps;
    std::vector<StepGroup> groups;
};

// The origin of a byte of rewritten text: bytes of the original text.
struct Span {
    std::uint32_t begin;
    std::uint32_t end;
};

// Growing a vector does not initialize what is new: it is overwritten anyway.
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
using Buffer = std::vector<std::uint8_t, RawAllocator<std::uint8_t>>;

struct AlignedText {
    Buffer text;
    Spans spans;  // one for every byte of `text`
};

// Reads the serialized form: per step a byte of its kind, then for Strip a byte (1 left, 2 right),
// for Replace, ReplacePattern and Prepend their texts, for CharsMap and ReplacePattern their
// tables, each after its size as four bytes, low byte first; for Sentence a byte of flags, its map
// (empty if there is none), and as one more table the texts that stay as they are.
// Throws Error{CorruptModel} with the offset of the fault.
[[nodiscard]] Program parse_program(Bytes serialized);
// The program of some steps, e.g. of another program without the last one.
[[nodiscard]] Program make_program(std::vector<Step> steps);

// True only if run() would return `text` unchanged; false if that is not certain.
//   NFC: "caf\u00E9" -> true, "cafe\u0301" -> false
[[nodiscard]] bool is_identity(const Program& program, Bytes text);

// True only if is_identity() is true of every part of `text`: the program only replaces literals,
// and the text has none of them.
[[nodiscard]] bool keeps_parts(const Program& program, Bytes text);

// Replaces the content of `out` by the rewritten text; throws where `stop` is due.
// Needs: `out` does not own the text.
//   NFC: "cafe\u0301" -> "caf\u00E9"
void run(const Program& program, Bytes text, Buffer& out, const Stop* stop = nullptr);

// The same with the origin of every byte, as in the reference's offsets: the origin of replaced
// text is the last character it replaces, that of inserted text the character before it.
// Needs: text.size() < 2^32.
//   NFC: "cafe\u0301" -> "caf\u00E9", spans (0,1) (1,2) (2,3) (3,4) (3,4)
void run_aligned(const Program& program, Bytes text, AlignedText& out, const Stop* stop = nullptr);

// What a program makes of every character alone.
struct CharRewrites {
    std::vector<std::uint32_t> codes;  // code points that change
    std::vector<std::uint8_t> bytes;   // what they become, back to back
    std::vector<std::uint32_t> ends;   // in `bytes`, for each of `codes`
    std::vector<std::uint32_t> slow;   // code points whose neighbours may matter
};
[[nodiscard]] CharRewrites rewrite_characters(const Program& program);

}  // namespace tokenmill::normalize
