// pack: one document in each row.
#include <algorithm>

#include "pack/check.h"
#include "pack/cut.h"
#include "pack/pack.h"

namespace tokenmill::pack {

RowPieces one_per_row(Lengths lengths, std::int64_t context_length, LongDocuments longer) {
    check_context_length(context_length);
    static_cast<void>(sum_of(lengths));
    RowPieces pieces;
    pieces.dropped = cut(lengths, context_length, longer, [&](const DocumentPiece& piece) {
        pieces.add(piece.document, piece.begin, piece.length);
        pieces.end_row();
    });
    return pieces;
}

RowPieces documents_as_rows(Lengths lengths) {
    static_cast<void>(sum_of(lengths));
    RowPieces pieces;
    for (std::size_t document = 0; document < lengths.size(); ++document) {
        pieces.add(static_cast<std::int64_t>(document), 0, lengths[document]);
        pieces.end_row();
    }
    return pieces;
}

}  // namespace tokenmill::pack
