// spans: ids -> their places in the document. Units of the batch point into text that may have been
// rewritten; a range names that text and the way back to the document. Internal to pipeline.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/platform.h"
#include "base/types.h"
#include "encode/encode.h"
#include "normalize/normalize.h"
#include "vocab/vocab.h"

namespace tokenmill::pipeline {

enum class SpanUnit : std::uint8_t { None, Characters, Bytes };

// Blanks at the ends of a token are not part of its span; under KeepAdded, a single one in front of
// the first token of a document is taken for one that was put there, and stays.
enum class Trim : std::uint32_t { Never = 0, All = 1, KeepAdded = 2 };

// A document as UTF-8 (borrowed), and a way to count its characters.
struct SpanSource {
    void open(Bytes document, SpanUnit wanted);

    // Characters that start before a byte. Needs: !is_plain, and the unit is Characters.
    [[nodiscard]] std::uint32_t rank(std::size_t at) const noexcept {
        const std::uint64_t below = leads[at / 64] & ((std::uint64_t{1} << at % 64) - 1);
        return before[at / 64] + ones_of(below);
    }

    Bytes text;
    SpanUnit unit = SpanUnit::None;
    bool is_plain = true;                   // ASCII: a byte is a character
    std::vector<std::uint64_t> leads;       // a bit for every byte that starts a character
    std::vector<std::uint32_t> before;      // characters before each of these words
    std::vector<normalize::Spans> aligned;  // of rewritten text; ranges point here
};

// A stretch of text in the batch. Its byte `begin` + i is byte `origin` + i of the document or, if
// the text was rewritten, the bytes `origin` + `aligned`[i]. Bytes before `begin` + `floor` were
// put in front and share the place of the character there.
struct SpanRange {
    const SpanSource* source = nullptr;
    const std::uint8_t* begin = nullptr;
    const normalize::Span* aligned = nullptr;
    std::uint32_t origin = 0;
    std::uint32_t floor = 0;
    std::uint32_t first_unit = 0;
    bool is_numbered = false;  // if a range is one word: it has its number
};

struct Place {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

// The place of a known id, in the wanted unit; `lead` and `tail` are blanks at its ends.
struct FixedSpan {
    Place place;
    std::uint32_t lead = 0;
    std::uint32_t tail = 0;
    const SpanSource* source = nullptr;  // null: put around the document, at no place in it
};

// How words are numbered: each unit is one, or each range of text.
enum class Words : std::uint8_t { None, Units, Ranges };

// Numbers of words, for ids that stand for text; they count from the start of a document.
struct WordNumbers {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;  // put around the document

    Words kind = Words::None;
    bool skips_empty = false;  // a unit without ids is white space, not a word
    std::uint32_t count = 0;   // words of the open document so far
};

// One worker's state for spans; idle while `unit` is None. It owns the sources of the documents in
// the batch; ranges and fixed spans point to them.
struct SpanState {
    void begin(SpanUnit wanted, Trim trimmed, const std::uint8_t* token_sizes, bool drops);
    // Spans are no longer wanted.
    void end();
    void clear();
    [[nodiscard]] SpanSource& open_source();
    // The batch was written; the open range and its source stay.
    void end_batch();
    // Must a word be one unit?
    [[nodiscard]] bool keeps_whole() const noexcept {
        return has_drops || words.kind == Words::Units;
    }

    SpanUnit unit = SpanUnit::None;
    Trim trim = Trim::Never;
    bool has_drops = false;  // words may hold bytes that no id stands for: they must not be cut
    const std::uint8_t* sizes = nullptr;  // by id: bytes of text it stands for, 0 if that varies
    WordNumbers words;
    std::vector<SpanRange> ranges;
    std::vector<FixedSpan> fixed;
    std::size_t next_range = 0;
    std::size_t next_fixed = 0;
    std::size_t text_ids = 0;  // of the open document, without those put around it

    std::vector<encode::WordPart> parts;  // scratch

private:
    std::vector<std::unique_ptr<SpanSource>> sources_;
    std::size_t open_ = 0;
};

// The place of text of the batch in its document.
[[nodiscard]] Place place_of(const SpanRange& range, const std::uint8_t* begin,
                             const std::uint8_t* end) noexcept;

// Takes `lead` and `tail` blanks, which are characters, off the ends of a place.
[[nodiscard]] Place trimmed(const SpanSource& source, Place place, std::uint32_t lead,
                            std::uint32_t tail) noexcept;

// Characters at the ends of a token's text that are white space or stand for a blank.
void count_blanks(Bytes text, std::uint32_t& lead, std::uint32_t& tail) noexcept;

// By id: bytes of text that a token stands for where it is not alone in a unit; 0 if that varies.
[[nodiscard]] std::vector<std::uint8_t> token_sizes(const vocab::VocabView& vocab);

}  // namespace tokenmill::pipeline
