// pack: the stream of all documents -> rows.
#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"
#include "pack/check.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

// Walks the documents of a stream; rows ask for ranges that never begin before the last one did.
class Stream {
public:
    Stream(Lengths lengths, std::int64_t begin) : lengths_(lengths), document_begin_(begin) {}

    // Adds the pieces that tokens begin .. end of the stream are made of.
    void add(std::int64_t begin, std::int64_t end, RowPieces& pieces) {
        while (document_begin_ + lengths_[document_] <= begin) {
            document_begin_ += lengths_[document_++];
        }
        std::size_t document = document_;
        std::int64_t at = document_begin_;
        while (at < end) {
            const std::int64_t from = std::max(begin, at);
            const std::int64_t until = std::min(end, at + lengths_[document]);
            if (from < until) {
                pieces.add(static_cast<std::int64_t>(document), from - at, until - from);
            }
            at += lengths_[document++];
        }
    }

private:
    Lengths lengths_;
    std::size_t document_ = 0;
    std::int64_t document_begin_;
};

void check_overlap(std::int64_t context_length, std::int64_t overlap) {
    check_context_length(context_length);
    if (overlap < 0 || overlap >= context_length) {
        throw Error(ErrorCode::BadArgument,
                    "expected an overlap of at least 0 and less than the context length, got " +
                        std::to_string(overlap));
    }
}

// The rows that hold `tokens` tokens, the short one included.
std::int64_t count_rows(std::int64_t tokens, std::int64_t context_length, std::int64_t overlap) {
    if (tokens <= context_length) {
        return tokens > 0 ? 1 : 0;
    }
    const std::int64_t stride = context_length - overlap;
    return 1 + (tokens - context_length + stride - 1) / stride;
}

}  // namespace

// Rows start every `stride` tokens, so a short last row is known from the sum of the lengths alone:
//
//   tokens  0 1 2 3 4 5 6 7 8      context_length 4, overlap 1, stride 3
//   row 0   * * * *
//   row 1         * * * *
//   row 2               * * *      short: kept, or dropped but for the token that row 1 has
RowPieces concat(Lengths lengths, std::int64_t context_length, std::int64_t overlap, LastRow tail) {
    check_overlap(context_length, overlap);
    const std::int64_t tokens = sum_of(lengths);
    const std::int64_t stride = context_length - overlap;
    std::int64_t rows = count_rows(tokens, context_length, overlap);
    std::int64_t dropped = 0;
    if (tail == LastRow::Drop && rows > 0 && (rows - 1) * stride + context_length > tokens) {
        --rows;
        dropped = tokens - (rows > 0 ? rows * stride + overlap : 0);
    }
    RowPieces pieces = concat_rows(lengths, 0, 0, rows, context_length, overlap);
    pieces.dropped = dropped;
    return pieces;
}

// For shards that are packed one after the other: each knows only the documents of its own rows.
RowPieces concat_rows(Lengths lengths, std::int64_t stream_begin, std::int64_t row_begin,
                      std::int64_t row_end, std::int64_t context_length, std::int64_t overlap) {
    check_overlap(context_length, overlap);
    const std::int64_t tokens = sum_of(lengths);
    const std::int64_t stride = context_length - overlap;
    if (stream_begin < 0 || row_begin < 0 || row_end < row_begin) {
        throw Error(ErrorCode::BadArgument, "expected a stream and rows that start at 0 or later");
    }
    RowPieces pieces;
    if (row_begin == row_end) {
        return pieces;
    }
    if (tokens > std::numeric_limits<std::int64_t>::max() - stream_begin) {
        throw Error(ErrorCode::BadArgument, "expected a stream of less than 2^63 tokens, got more");
    }
    const std::int64_t stream_end = stream_begin + tokens;
    // In this order: no row that exists begins at a place that 64 bits cannot hold.
    if (row_end > count_rows(stream_end, context_length, overlap) ||
        row_begin * stride < stream_begin) {
        throw Error(ErrorCode::BadArgument,
                    "expected rows within tokens " + std::to_string(stream_begin) + " to " +
                        std::to_string(stream_end) + " of the stream, got rows " +
                        std::to_string(row_begin) + " to " + std::to_string(row_end));
    }
    Stream stream(lengths, stream_begin);
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        const std::int64_t begin = row * stride;
        stream.add(begin, std::min(begin + context_length, stream_end), pieces);
        pieces.end_row();
    }
    pieces.repeated = overlap * (row_end - std::max<std::int64_t>(row_begin, 1));
    pieces.repeated = std::max<std::int64_t>(pieces.repeated, 0);
    return pieces;
}

}  // namespace tokenmill::pack
