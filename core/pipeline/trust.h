// trust: which bytes of a document may hold control tokens. Internal to pipeline; the rule and why
// it holds are in docs/develop/decisions/0011.
#pragma once

#include <vector>

#include "normalize/normalize.h"
#include "split/split.h"

namespace tokenmill::pipeline {

// Added tokens that text of others must never become.
class ControlTokens {
public:
    // All special tokens, and those with one of the ids `more`. Text that is unknown to the
    // vocabulary becomes `unk_id`, so that one is left out of ids().
    ControlTokens(const split::AddedView& added, std::span<const TokenId> more, TokenId unk_id,
                  TokenId max_id);

    [[nodiscard]] std::span<const std::uint8_t> by_token() const noexcept { return by_token_; }
    // Are some of them looked for in normalized text?
    [[nodiscard]] bool has_normalized() const noexcept { return has_normalized_; }
    [[nodiscard]] bool has(TokenId id) const noexcept {
        return (ids_[id >> 6U] >> (id & 63U) & 1U) != 0;
    }
    [[nodiscard]] std::size_t count_in(std::span<const TokenId> ids) const noexcept;

private:
    std::vector<std::uint8_t> by_token_;  // by index of the added token: 1 if it is one
    std::vector<std::uint64_t> ids_;      // a bit for each id
    bool has_normalized_ = false;
};

// What a caller vouches for in one document. Borrowed by Options.
struct Trust {
    const ControlTokens& control;
    std::span<const ByteRange> ranges;  // in rising order, not touching each other
    std::size_t& put;                   // counts ids that control tokens became on purpose
};

// The parts of `ranges` inside `piece`, counted from its begin.
void clip_ranges(std::span<const ByteRange> ranges, ByteRange piece, std::vector<ByteRange>& out);

// A rewritten piece of text: `front` bytes that the tokenizer put there, then bytes that each stand
// for bytes of the piece. No origins: every byte stands for itself.
struct Rewritten {
    Bytes text;
    std::size_t front = 0;
    std::span<const normalize::Span> origins;
};

// Ranges of a piece -> ranges of what it was rewritten to. A byte belongs to the range that holds
// all bytes that it stands for; bytes of different ranges never share one, even if the normalizer
// removed all that was between them.
void carry_ranges(std::span<const ByteRange> ranges, const Rewritten& to,
                  std::vector<ByteRange>& out);

// The bytes of the piece that [begin, end) of the rewritten text stands for.
[[nodiscard]] ByteRange origin_of(const Rewritten& to, std::size_t begin, std::size_t end) noexcept;

// The same, with the bytes on both sides that nothing stands for, as far as they are in the range
// of `ranges` that the others are in: a mark that was combined with the last letter, perhaps.
[[nodiscard]] ByteRange trusted_origin_of(std::span<const ByteRange> ranges, const Rewritten& to,
                                          std::size_t begin, std::size_t end) noexcept;

}  // namespace tokenmill::pipeline
