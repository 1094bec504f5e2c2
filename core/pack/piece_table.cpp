// pack: pieces of rows -> the table from which a device fills rows.
#include <string>

#include "base/error.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

void check(const PieceView& pieces, const PieceSources& sources) {
    const auto count = static_cast<std::int64_t>(pieces.lengths.size());
    std::int64_t last = 0;
    for (const std::int64_t end : pieces.row_pieces) {
        if (end < last || end > count) {
            throw Error(ErrorCode::BadArgument, "expected rows of these pieces, got others");
        }
        last = end;
    }
    const bool is_whole = !pieces.row_pieces.empty() && pieces.row_pieces.front() == 0 &&
                          last == count && pieces.documents.size() == pieces.lengths.size() &&
                          pieces.begins.size() == pieces.lengths.size() &&
                          sources.text_lengths.size() == sources.addresses.size() &&
                          sources.framed.size() == sources.addresses.size();
    if (!is_whole) {
        throw Error(ErrorCode::BadArgument, "expected numbers for every piece and document");
    }
    for (const std::int64_t document : pieces.documents) {
        if (document < 0 || static_cast<std::size_t>(document) >= sources.addresses.size()) {
            throw Error(ErrorCode::BadArgument,
                        "expected a document that exists, got " + std::to_string(document));
        }
    }
}

}  // namespace

// A column after the other: place, length, frame, text, ids, position, segment.
void piece_table(const PieceView& pieces, const PieceSources& sources, const PieceLooks& looks,
                 std::uint64_t* out) {
    check(pieces, sources);
    const std::size_t count = pieces.lengths.size();
    for (std::size_t row = 0; row + 1 < pieces.row_pieces.size(); ++row) {
        auto place = static_cast<std::int64_t>(row) * looks.width;
        const auto first = static_cast<std::size_t>(pieces.row_pieces[row]);
        const auto last = static_cast<std::size_t>(pieces.row_pieces[row + 1]);
        for (std::size_t piece = first; piece < last; ++piece) {
            const auto document = static_cast<std::size_t>(pieces.documents[piece]);
            const std::int64_t begin = pieces.begins[piece];
            const std::int64_t frame = begin + (sources.framed[document] ? looks.before : 0);
            const std::int64_t values[kPieceColumns] = {
                place,
                pieces.lengths[piece],
                frame,
                sources.text_lengths[document],
                0,
                looks.continue_positions ? begin : 0,
                static_cast<std::int64_t>(piece - first) + 1};
            for (std::size_t column = 0; column < kPieceColumns; ++column) {
                out[column * count + piece] = static_cast<std::uint64_t>(values[column]);
            }
            out[kAddressColumn * count + piece] = sources.addresses[document];
            place += pieces.lengths[piece];
        }
    }
}

}  // namespace tokenmill::pack
