// pack: documents -> pieces that fit a row, by the rule for long documents.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pack/pack.h"

namespace tokenmill::pack {

struct DocumentPiece {
    std::int64_t document;
    std::int64_t begin;
    std::int64_t length;
};

// Calls `take` for each piece, in the order of documents, and returns how many tokens are in none.
template <typename Take>
std::int64_t cut(Lengths lengths, std::int64_t context_length, LongDocuments longer, Take take) {
    std::int64_t dropped = 0;
    for (std::size_t document = 0; document < lengths.size(); ++document) {
        std::int64_t end = lengths[document];
        if (end > context_length && longer != LongDocuments::Split) {
            end = longer == LongDocuments::Truncate ? context_length : 0;
            dropped += lengths[document] - end;
        }
        for (std::int64_t begin = 0; begin < end; begin += context_length) {
            take(DocumentPiece{static_cast<std::int64_t>(document), begin,
                               std::min(context_length, end - begin)});
        }
    }
    return dropped;
}

}  // namespace tokenmill::pack
