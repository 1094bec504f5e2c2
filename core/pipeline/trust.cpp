// trust: which bytes of a document may hold control tokens.
#include "pipeline/trust.h"

#include <algorithm>

namespace tokenmill::pipeline {

ControlTokens::ControlTokens(const split::AddedView& added, std::span<const TokenId> more,
                             TokenId unk_id, TokenId max_id)
    : by_token_(added.tokens.size(), 0), ids_(std::size_t{max_id} / 64 + 1, 0) {
    for (std::size_t i = 0; i < added.tokens.size(); ++i) {
        const split::AddedToken& token = added.tokens[i];
        if ((token.flags & split::kSpecial) == 0 &&
            std::find(more.begin(), more.end(), token.id) == more.end()) {
            continue;
        }
        by_token_[i] = 1;
        has_normalized_ |= (token.flags & split::kNormalized) != 0;
        if (token.id != unk_id) {
            ids_[token.id >> 6U] |= std::uint64_t{1} << (token.id & 63U);
        }
    }
}

std::size_t ControlTokens::count_in(std::span<const TokenId> ids) const noexcept {
    std::size_t count = 0;
    for (const TokenId id : ids) {
        count += has(id) ? 1 : 0;
    }
    return count;
}

void clip_ranges(std::span<const ByteRange> ranges, ByteRange piece, std::vector<ByteRange>& out) {
    out.clear();
    auto at = std::partition_point(ranges.begin(), ranges.end(), [&](const ByteRange& range) {
        return range.end <= piece.begin;
    });
    for (; at != ranges.end() && at->begin < piece.end; ++at) {
        out.push_back({std::max(at->begin, piece.begin) - piece.begin,
                       std::min(at->end, piece.end) - piece.begin});
    }
}

void carry_ranges(std::span<const ByteRange> ranges, const Rewritten& to,
                  std::vector<ByteRange>& out) {
    out.clear();
    constexpr std::size_t kNone = ~std::size_t{0};
    std::size_t at = 0;        // the first range that may hold the next byte
    std::size_t open = kNone;  // the range that the last byte belongs to
    for (std::size_t i = to.front; i < to.text.size(); ++i) {
        const ByteRange origin = origin_of(to, i, i + 1);
        while (at < ranges.size() && ranges[at].end < origin.end) {
            ++at;
        }
        if (at == ranges.size() || origin.begin < ranges[at].begin) {
            open = kNone;
        } else if (open == at) {
            out.back().end = i + 1;
        } else {
            // What the tokenizer put in front belongs to the range that it stands before.
            out.push_back({i == to.front ? 0 : i, i + 1});
            open = at;
        }
    }
}

ByteRange origin_of(const Rewritten& to, std::size_t begin, std::size_t end) noexcept {
    begin = std::max(begin, to.front) - to.front;
    end = std::max(end, to.front) - to.front;
    if (to.origins.empty() || begin == end) {
        return {begin, end};
    }
    ByteRange hull{to.origins[begin].begin, to.origins[begin].end};
    for (std::size_t i = begin + 1; i < end; ++i) {
        hull.begin = std::min<std::size_t>(hull.begin, to.origins[i].begin);
        hull.end = std::max<std::size_t>(hull.end, to.origins[i].end);
    }
    return hull;
}

ByteRange trusted_origin_of(std::span<const ByteRange> ranges, const Rewritten& to,
                            std::size_t begin, std::size_t end) noexcept {
    ByteRange origin = origin_of(to, begin, end);
    const auto range = std::partition_point(
        ranges.begin(), ranges.end(), [&](const ByteRange& one) { return one.end < origin.end; });
    if (range == ranges.end() || end <= to.front) {
        return origin;
    }
    const std::size_t last = end - to.front;
    const std::size_t before = begin > to.front ? to.origins[begin - to.front - 1].end : 0;
    const std::size_t after = last < to.origins.size() ? to.origins[last].begin : range->end;
    origin.begin = std::min(origin.begin, std::max(before, range->begin));
    origin.end = std::max(origin.end, std::min(after, range->end));
    return origin;
}

}  // namespace tokenmill::pipeline
