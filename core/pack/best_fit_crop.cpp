// pack: full rows in which every piece starts a document: best fit, and cropping where none fits.
#include <algorithm>
#include <numeric>
#include <utility>

#include "pack/check.h"
#include "pack/number_set.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

// The documents that are left, by length and then by number.
class DocumentsByLength {
public:
    DocumentsByLength(Lengths lengths, std::int64_t context_length)
        : lengths_(lengths),
          left_(static_cast<std::size_t>(context_length) + 1),
          next_(static_cast<std::size_t>(context_length) + 2) {
        std::vector<std::int64_t> longer;
        for (std::size_t document = 0; document < lengths.size(); ++document) {
            if (lengths[document] > context_length) {
                longer.push_back(static_cast<std::int64_t>(document));
            } else if (lengths[document] > 0) {
                ++next_[static_cast<std::size_t>(lengths[document]) + 1];
                left_.insert(static_cast<std::size_t>(lengths[document]));
            }
        }
        std::partial_sum(next_.begin(), next_.end(), next_.begin());
        sort_fitting(context_length);
        std::stable_sort(longer.begin(), longer.end(), [&](std::int64_t a, std::int64_t b) {
            return length_of(a) < length_of(b);
        });
        first_longer_ = by_length_.size();
        by_length_.insert(by_length_.end(), longer.begin(), longer.end());
    }

    [[nodiscard]] bool is_empty() const {
        return first_longer_ == by_length_.size() && left_.at_least(0) == NumberSet::kNone;
    }

    [[nodiscard]] std::int64_t length_of(std::int64_t document) const {
        return lengths_[static_cast<std::size_t>(document)];
    }

    // The longest one of at most `length` tokens, or else the shortest; there is one.
    [[nodiscard]] std::int64_t take(std::int64_t length) {
        const std::int64_t fitting = left_.at_most(static_cast<std::size_t>(length));
        if (fitting != NumberSet::kNone) {
            return take_of_length(static_cast<std::size_t>(fitting));
        }
        const std::int64_t shortest = left_.at_least(0);
        if (shortest != NumberSet::kNone) {
            return take_of_length(static_cast<std::size_t>(shortest));
        }
        return by_length_[first_longer_++];
    }

private:
    // Fills by_length_; next_[n] is afterwards where the documents of n tokens begin.
    void sort_fitting(std::int64_t context_length) {
        by_length_.resize(static_cast<std::size_t>(next_.back()));
        std::vector<std::int64_t> at(next_);
        for (std::size_t document = 0; document < lengths_.size(); ++document) {
            if (lengths_[document] > 0 && lengths_[document] <= context_length) {
                auto& place = at[static_cast<std::size_t>(lengths_[document])];
                by_length_[static_cast<std::size_t>(place++)] = static_cast<std::int64_t>(document);
            }
        }
        ends_ = std::move(at);
    }

    [[nodiscard]] std::int64_t take_of_length(std::size_t length) {
        const std::int64_t document = by_length_[static_cast<std::size_t>(next_[length]++)];
        if (next_[length] == ends_[length]) {
            left_.erase(length);
        }
        return document;
    }

    Lengths lengths_;
    NumberSet left_;                       // lengths that some documents left have
    std::vector<std::int64_t> next_;       // by length: place of the next one in by_length_
    std::vector<std::int64_t> ends_;       // by length: place after the last one
    std::vector<std::int64_t> by_length_;  // those that fit a row, then those that do not
    std::size_t first_longer_ = 0;
};

// The same rows in the order of the documents that they start with.
RowPieces sort_rows(const RowPieces& pieces) {
    const std::size_t rows = pieces.row_pieces.size() - 1;
    std::vector<std::size_t> order(rows);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto first_document = [&](std::size_t row) {
        return pieces.documents[static_cast<std::size_t>(pieces.row_pieces[row])];
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return first_document(a) < first_document(b); });
    RowPieces out;
    out.dropped = pieces.dropped;
    for (const std::size_t row : order) {
        for (auto piece = static_cast<std::size_t>(pieces.row_pieces[row]);
             piece < static_cast<std::size_t>(pieces.row_pieces[row + 1]); ++piece) {
            out.add(pieces.documents[piece], pieces.begins[piece], pieces.lengths[piece]);
        }
        out.end_row();
    }
    return out;
}

// Its tokens are counted by the caller.
void remove_last_row(RowPieces& pieces) {
    pieces.row_pieces.pop_back();
    const auto count = static_cast<std::size_t>(pieces.row_pieces.back());
    pieces.documents.resize(count);
    pieces.begins.resize(count);
    pieces.lengths.resize(count);
}

}  // namespace

// Greedy, row by row. Each take() costs a search in a tree of bits, so the whole is O(n log C).
RowPieces best_fit_crop(Lengths lengths, std::int64_t context_length, LastRow tail) {
    check_fit_length(context_length);
    static_cast<void>(sum_of(lengths));
    DocumentsByLength documents(lengths, context_length);
    RowPieces pieces;
    while (!documents.is_empty()) {
        std::int64_t left = context_length;
        while (left > 0 && !documents.is_empty()) {
            const std::int64_t document = documents.take(left);
            const std::int64_t length = std::min(documents.length_of(document), left);
            pieces.add(document, 0, length);
            pieces.dropped += documents.length_of(document) - length;
            left -= length;
        }
        pieces.end_row();
        if (left > 0 && tail == LastRow::Drop) {  // nothing was cropped in a row that is short
            pieces.dropped += context_length - left;
            remove_last_row(pieces);
        }
    }
    return sort_rows(pieces);
}

}  // namespace tokenmill::pack
