// normalize/sentence: text -> text as models of whole sentences want it. The longest keys of a map
// are replaced; blanks are joined, added at an end, and written as a marker. Inside the room only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "normalize/charsmap.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

class Sentence {
public:
    enum Flag : std::uint8_t {
        kFront = 1,     // a blank is added at the start
        kBack = 2,      // or at the end
        kSqueezes = 4,  // no blanks at both ends, and at most one between
        kMarks = 8,     // blanks are written as U+2581
        kSpells = 16,   // U+2581 is written as a blank
        kAllFlags = 31,
    };

    // `map` may be empty; `kept` are texts that stay as they are, none of them empty.
    // Throws Error{CorruptModel} with `offset` as the place of the map.
    Sentence(std::uint8_t flags, Bytes map, std::vector<std::vector<std::uint8_t>> kept,
             std::size_t offset);

    // At every place the longest of the kept texts is written as it is, else the value of the
    // longest key, else the character. The rules for blanks apply to what is written.
    void rewrite(Bytes text, Buffer& out, const Stop* stop) const;
    // The same with spans, which count from the start of `text`: it is the original.
    void rewrite(Bytes text, AlignedText& out, const Stop* stop) const;

private:
    struct Replacement {
        std::size_t taken;
        Bytes text;
    };
    template <typename Output>
    class Run;

    [[nodiscard]] bool has(Flag flag) const noexcept { return (flags_ & flag) != 0; }
    [[nodiscard]] Replacement replacement_for(const std::uint8_t* at,
                                              const std::uint8_t* end) const;
    [[nodiscard]] std::size_t longest_kept(Bytes text) const noexcept;
    // Which characters stay as they are.
    enum class Plain : std::uint8_t { Never, BeforeAscii, Always };
    [[nodiscard]] Plain plain_of(std::uint32_t code) const noexcept;

    std::uint8_t flags_;
    std::optional<CharsMap> map_;
    std::vector<std::vector<std::uint8_t>> kept_;  // sorted
    bool begins_kept_[256] = {};
    bool is_plain_ascii_[256] = {};  // never blanks
    std::vector<Plain> plain_;       // of every basic character; a blank may still be dropped
};

}  // namespace tokenmill::normalize
