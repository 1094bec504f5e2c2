// pack: checks of arguments, and sums that may overflow.
#include "pack/check.h"

#include <limits>
#include <string>

#include "base/error.h"

namespace tokenmill::pack {

void RowPieces::add(std::int64_t document, std::int64_t begin, std::int64_t length) {
    documents.push_back(document);
    begins.push_back(begin);
    lengths.push_back(length);
}

void check_context_length(std::int64_t context_length) {
    if (context_length < 1) {
        throw Error(ErrorCode::BadArgument, "expected a context length of at least 1, got " +
                                                std::to_string(context_length));
    }
}

void check_fit_length(std::int64_t context_length) {
    check_context_length(context_length);
    if (context_length > kMaxFitLength) {
        throw Error(ErrorCode::BadArgument, "expected a context length of at most " +
                                                std::to_string(kMaxFitLength) + " to fit, got " +
                                                std::to_string(context_length));
    }
}

std::int64_t sum_of(Lengths lengths) {
    std::int64_t sum = 0;
    for (std::size_t document = 0; document < lengths.size(); ++document) {
        if (lengths[document] < 0) {
            throw Error(ErrorCode::BadArgument, "expected lengths of at least 0, got " +
                                                    std::to_string(lengths[document]) +
                                                    " for document " + std::to_string(document));
        }
        if (lengths[document] > std::numeric_limits<std::int64_t>::max() - sum) {
            throw Error(ErrorCode::BadArgument, "expected less than 2^63 tokens, got more");
        }
        sum += lengths[document];
    }
    return sum;
}

}  // namespace tokenmill::pack
