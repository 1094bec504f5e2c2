// split/added: document -> its added tokens and the texts between them, before anything else looks
// at it. Leftmost, then longest; find_added_tokens explains the flags of a token. Costs a few
// vector instructions a block while no token is near.
#pragma once

#include <vector>

#include "base/blob.h"
#include "base/types.h"
#include "split/advance.h"

namespace tokenmill::split {

enum AddedSection : std::uint32_t {
    kAddedInfo = 300,
    kAddedWhite = 301,  // three sections of a class table: white space is 1, word characters 2
    kAddedNodes = 310,  // of the texts matched in the raw document
    kAddedEdges = 311,
    kNormalNodes = 320,  // of those matched in the normalized pieces
    kNormalEdges = 321,
};

enum AddedFlag : std::uint32_t {
    kSpecial = 1,
    kNormalized = 2,
    kStripLeft = 4,
    kStripRight = 8,
    kSingleWord = 16,
};

struct AddedToken {
    TokenId id;
    std::uint32_t flags;
};

// The first three bytes of all texts, by nibbles, in eight buckets: a text of bucket b may start
// where bit b is set in all six look-ups. Scanners use it to skip text quickly.
struct PrefixFilter {
    std::uint8_t low[3][16] = {};
    std::uint8_t high[3][16] = {};
};

struct AddedNode {
    std::uint32_t first_child;
    std::uint32_t child_count;
    std::uint32_t token;  // index of the token + 1 that ends here, or 0
};

class AddedMatcher {
public:
    AddedMatcher() = default;
    AddedMatcher(std::span<const AddedNode> nodes, std::span<const std::uint8_t> edges);

    [[nodiscard]] bool empty() const noexcept { return nodes_.size() <= 1; }
    // The longest text at the start of [at, end): its size, or 0; its token to `token`.
    [[nodiscard]] std::size_t longest(const std::uint8_t* at, const std::uint8_t* end,
                                      std::uint32_t& token) const noexcept;
    [[nodiscard]] const PrefixFilter& filter() const noexcept { return filter_; }
    [[nodiscard]] std::span<const AddedNode> nodes() const noexcept { return nodes_; }
    [[nodiscard]] std::span<const std::uint8_t> edges() const noexcept { return edges_; }

private:
    void add_to_filter(std::uint32_t node, unsigned depth, std::uint8_t* prefix);

    std::span<const AddedNode> nodes_;
    std::span<const std::uint8_t> edges_;  // the byte that leads to each node
    PrefixFilter filter_;
};

// A piece of a document: text, or one added token.
struct Segment {
    std::size_t begin;
    std::size_t end;
    std::uint32_t token;  // index + 1 into AddedView::tokens, 0 for text
};

struct AddedText {
    std::vector<std::uint8_t> content;
    AddedToken token;
};

// Control tokens count only inside trusted text (docs/develop/decisions/0011).
struct Trusted {
    std::span<const ByteRange> ranges;      // in rising order, not touching each other
    std::span<const std::uint8_t> control;  // by index of the token: 1 for a control token
};

class AddedView {
public:
    AddedView() = default;
    explicit AddedView(const BlobReader& blob);

    // Returns the first place at or after `from` where a text of the filter may start, or `end`.
    using FindCandidate = const std::uint8_t* (*)(const PrefixFilter&, const std::uint8_t* from,
                                                  const std::uint8_t* end);
    // Appends the segments of `text`. Tokens with a flag of `skip_flags` count as text.
    // kStripLeft and kStripRight take the white space around the token, kSingleWord needs a
    // non-word character on both sides.
    void find_added_tokens(const AddedMatcher& matcher, Bytes text, std::uint32_t skip_flags,
                           FindCandidate find_candidate, std::vector<Segment>& out) const;

    // With trusted ranges, in two steps. First the control tokens: those that each trusted range
    // holds when it is read by itself, so that text around it neither makes nor hides one. They are
    // not stripped yet.
    void find_control_tokens(const AddedMatcher& matcher, Bytes text, const Trusted& trusted,
                             FindCandidate find_candidate, std::vector<Segment>& out) const;
    // Then the segments of `text`: the `known` control tokens, and between them all other tokens.
    // Further control tokens count as text.
    void find_around(const AddedMatcher& matcher, Bytes text, std::span<const Segment> known,
                     const Trusted& trusted, FindCandidate find_candidate,
                     std::vector<Segment>& out) const;

    // White space is 1, word characters 2.
    [[nodiscard]] const ClassTable& classes() const noexcept { return classes_; }

    AddedMatcher raw;
    AddedMatcher normal;
    std::span<const AddedToken> tokens;

private:
    // The segments of a text, up to `done`.
    struct Segmenting {
        Bytes text;
        std::vector<Segment>& out;
        std::size_t done = 0;
        ByteRange white{1, 0};  // the last run of white space that a token took
    };
    // Calls visit(begin, end, token) for every candidate that starts and ends in `range`.
    template <typename Visit>
    void scan(const AddedMatcher& matcher, Bytes text, ByteRange range,
              FindCandidate find_candidate, const Visit& visit) const;
    // Adds a token and the text before it.
    void take(Segmenting& cut, std::size_t begin, std::size_t stop, std::uint32_t token) const;
    // Adds the text after the last token.
    static void finish(Segmenting& cut);
    [[nodiscard]] bool is_alone(Bytes text, std::size_t begin, std::size_t end) const noexcept;
    [[nodiscard]] std::size_t strip_left(Bytes text, std::size_t begin,
                                         std::size_t limit) const noexcept;
    [[nodiscard]] std::size_t strip_right(Bytes text, std::size_t end) const noexcept;

    ClassTable classes_{};
};

void compile_added(const std::vector<AddedText>& texts, std::span<const std::uint32_t> white_ranges,
                   std::span<const std::uint32_t> word_ranges, BlobWriter& out);

}  // namespace tokenmill::split
