// pack: best-fit decreasing, with one list of rows for each number of tokens that a row has left.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "pack/check.h"
#include "pack/cut.h"
#include "pack/number_set.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

using Index = std::uint32_t;
constexpr Index kNoRow = std::numeric_limits<Index>::max();

// The numbers of the pieces from long to short; stable. Two passes over digits of 12 bits, because
// no length is above kMaxFitLength = 2^24 (which is never sorted: such a piece fills its row).
std::vector<Index> order_by_decreasing_length(const std::vector<DocumentPiece>& pieces) {
    static_assert(kMaxFitLength == std::int64_t{1} << 24);
    constexpr std::uint32_t kDigits = 1 << 12;
    std::vector<Index> order(pieces.size());
    std::vector<Index> other(pieces.size());
    std::iota(order.begin(), order.end(), 0);
    for (const unsigned shift : {0U, 12U}) {
        const auto digit_of = [&](Index piece) {
            const auto key = static_cast<std::uint64_t>(kMaxFitLength - pieces[piece].length);
            return static_cast<std::uint32_t>(key >> shift) % kDigits;
        };
        std::vector<Index> begins(kDigits + 1);
        for (const Index piece : order) {
            ++begins[digit_of(piece) + 1];
        }
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        for (const Index piece : order) {
            other[begins[digit_of(piece)]++] = piece;
        }
        order.swap(other);
    }
    return order;
}

// Open rows by the tokens that they have left. The lists are stacks: of equally full rows the one
// that was filled last is taken.
class OpenRows {
public:
    explicit OpenRows(std::int64_t context_length)
        : context_length_(context_length),
          left_(static_cast<std::size_t>(context_length)),
          tops_(static_cast<std::size_t>(context_length), kNoRow) {}

    // The row that takes a piece of this length.
    [[nodiscard]] Index put(std::int64_t length) {
        const std::int64_t left = left_.at_least(static_cast<std::size_t>(length));
        if (left == NumberSet::kNone) {
            const auto row = static_cast<Index>(below_.size());
            below_.push_back(kNoRow);
            push(row, context_length_ - length);
            return row;
        }
        const Index row = pop(static_cast<std::size_t>(left));
        push(row, left - length);
        return row;
    }

private:
    // Full rows are in no list.
    void push(Index row, std::int64_t left) {
        if (left == 0) {
            return;
        }
        const auto bucket = static_cast<std::size_t>(left);
        below_[row] = tops_[bucket];
        tops_[bucket] = row;
        left_.insert(bucket);
    }

    [[nodiscard]] Index pop(std::size_t bucket) {
        const Index row = tops_[bucket];
        tops_[bucket] = below_[row];
        if (tops_[bucket] == kNoRow) {
            left_.erase(bucket);
        }
        return row;
    }

    std::int64_t context_length_;
    NumberSet left_;
    std::vector<Index> tops_;   // by tokens left
    std::vector<Index> below_;  // by row: the next one of its list
};

// Numbers the rows by the first piece in them and sorts the pieces into them.
RowPieces lay_out(const std::vector<DocumentPiece>& pieces, const std::vector<Index>& row_of) {
    std::vector<Index> numbers(pieces.size(), kNoRow);
    std::vector<Index> rows(pieces.size());
    RowPieces out;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        Index& number = numbers[row_of[piece]];
        if (number == kNoRow) {
            number = static_cast<Index>(out.row_pieces.size() - 1);
            out.row_pieces.push_back(0);
        }
        rows[piece] = number;
        ++out.row_pieces[number + std::size_t{1}];
    }
    std::partial_sum(out.row_pieces.begin(), out.row_pieces.end(), out.row_pieces.begin());
    std::vector<std::int64_t> next(out.row_pieces.begin(), out.row_pieces.end() - 1);
    out.documents.resize(pieces.size());
    out.begins.resize(pieces.size());
    out.lengths.resize(pieces.size());
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        const auto at = static_cast<std::size_t>(next[rows[piece]]++);
        out.documents[at] = pieces[piece].document;
        out.begins[at] = pieces[piece].begin;
        out.lengths[at] = pieces[piece].length;
    }
    return out;
}

// The most pieces that the documents can become; throws BadArgument if an Index cannot count them.
std::size_t count_pieces(Lengths lengths, std::int64_t context_length) {
    std::size_t count = 0;
    for (const std::int64_t length : lengths) {
        count += static_cast<std::size_t>(length / context_length + (length % context_length > 0));
        if (count >= kNoRow) {
            throw Error(ErrorCode::BadArgument, "expected less than 2^32 - 1 pieces, got more");
        }
    }
    return count;
}

}  // namespace

// Decides only which row a piece goes into; lay_out puts rows and pieces into their final order.
RowPieces best_fit(Lengths lengths, std::int64_t context_length, LongDocuments longer) {
    check_fit_length(context_length);
    static_cast<void>(sum_of(lengths));
    std::vector<DocumentPiece> pieces;
    pieces.reserve(count_pieces(lengths, context_length));
    const std::int64_t dropped = cut(lengths, context_length, longer,
                                     [&](const DocumentPiece& piece) { pieces.push_back(piece); });
    OpenRows open(context_length);
    std::vector<Index> row_of(pieces.size());
    for (const Index piece : order_by_decreasing_length(pieces)) {
        row_of[piece] = open.put(pieces[piece].length);
    }
    RowPieces out = lay_out(pieces, row_of);
    out.dropped = dropped;
    return out;
}

}  // namespace tokenmill::pack
