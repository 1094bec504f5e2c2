// safe_cuts: where a text that still grows may be cut for good. Internal to pipeline.
//
//     K L | R N        a cut between the characters L and R of the text as it is written
//
// Whatever comes later, the ids of the part before a safe cut stay, and those after it are the ids
// of the second part alone, read with Options::continues. That is so if
//   * every step of the normalizer rewrites both parts as it rewrites the whole. Steps look at one
//     character, at marks after it (N is not one), or at white space. A step at the start of texts,
//     such as one that puts a blank there, is left out of the programs that a second part is
//     rewritten with;
//   * the split may be cut between the rewritten L and R (SplitView::is_sync);
//   * no added token lies across the cut, also with the white space that it takes, and none that
//     ends there makes R the start of a segment that gets something in front.
// Costs 8 KB for each kind of added tokens, and 2 KB.
#pragma once

#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// The added tokens of one matcher, as far as a cut depends on them.
struct TokenEdges {
    TokenEdges(const split::AddedMatcher& matcher, std::span<const split::AddedToken> tokens);

    using Pairs = std::bitset<std::size_t{1} << 16>;
    Pairs inside;  // two bytes that follow each other in a token
    Pairs ends;    // the last two bytes of a token; all pairs with that byte if it has only one
    std::bitset<256> last;
    std::bitset<256> strips_right_after;  // last bytes of tokens that take the white space after
    bool strips_left = false;
    bool strips_right = false;
    std::bitset<256> single_words;  // first bytes of tokens that need a border in front

    // May a token, now or later, lie across a cut between these two, or look over it?
    [[nodiscard]] bool reach_over(const split::ClassTable& classes, std::uint32_t left,
                                  std::uint32_t right) const noexcept;

private:
    void add_end(int before, std::uint8_t byte, std::uint8_t start, std::uint32_t flags);
};

class SafeCuts {
public:
    explicit SafeCuts(const Model& model);

    // Why no text can be cut; empty if texts can.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    // The last safe cut of `text` after `from`, a place in bytes; 0 if there is none.
    [[nodiscard]] std::size_t find_last(Bytes text, std::size_t from) const;
    // So many bytes after a cut decide that it is one.
    static constexpr std::size_t kAhead = 8;

    // The programs of the model, for text that continues another.
    [[nodiscard]] const normalize::Program& rewriter() const noexcept { return rewriter_; }
    [[nodiscard]] const normalize::Program& respeller() const noexcept { return respeller_; }

private:
    // What a character becomes, wherever a cut may be next to it; kNone if that depends on more.
    struct Image {
        std::uint32_t rewritten;
        std::uint32_t respelled;
    };
    struct Around {
        std::uint32_t before;  // K, or kNone at the start of the text
        std::uint32_t left;
        std::uint32_t right;
        std::uint32_t after;
    };
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    void read_steps(const normalize::Program& program);
    [[nodiscard]] std::uint32_t image_of(const normalize::Program& program,
                                         std::uint32_t code) const;
    [[nodiscard]] Image image_of(std::uint32_t code) const;
    [[nodiscard]] bool keeps_literals(std::uint32_t left, std::uint32_t right) const;
    [[nodiscard]] bool is_safe_pair(std::uint32_t left, std::uint32_t right) const;
    [[nodiscard]] bool is_safe(const Around& around) const;
    [[nodiscard]] bool may_end_token(std::uint32_t before, std::uint32_t left) const;

    const Model& model_;
    std::string reason_;
    normalize::Program rewriter_;
    normalize::Program respeller_;
    TokenEdges raw_;
    TokenEdges normal_;
    // Literals of more than one character, each with the program of the steps before it.
    struct Literal {
        normalize::Program before;
        std::uint32_t first;
        std::uint32_t last;
        std::vector<std::uint32_t> characters;
        bool keeps_first;  // what it becomes starts with its first character
    };
    std::vector<Literal> literals_;
    bool has_map_ = false;     // clusters of characters matter: only ASCII is sure
    bool has_forms_ = false;   // characters combine with marks
    bool trims_ = false;       // white space at the ends of a text matters
    bool squeezes_ = false;    // runs of white space matter
    bool puts_front_ = false;  // a segment gets something in front
    std::array<Image, 128> ascii_{};
    std::array<std::bitset<128>, 128> pairs_{};  // [left][right], both ASCII
};

}  // namespace tokenmill::pipeline
