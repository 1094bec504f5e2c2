// encode/short_way: a word of up to 32 bytes -> the pieces with the greatest sum of scores.
#include "encode/short_way.h"

#include <algorithm>
#include <bit>

#include "base/platform.h"

namespace tokenmill::encode {

namespace {

using vocab::NodeTables;
using vocab::SmallTrie;
using vocab::Trie;
using vocab::VocabView;

// A piece has the place 64 * begin + end, so that one number says where it is and one more byte
// is the next number.
constexpr unsigned kRow = 64;
constexpr std::size_t kLongest = ShortWay::kLongest;

// All pieces of a word, by place.
struct PieceGrid {
    std::uint32_t node[kRow * kLongest];  // only where `begins` has the bit
    // [end]: bit b is set if a piece is b..end. A way may try one byte after the word.
    std::uint32_t begins[kLongest + 2] = {};

    void add(std::uint32_t place, std::uint32_t at, std::uint32_t is_there) noexcept {
        node[place] = at;
        begins[place % kRow] |= is_there << (place / kRow);
    }
};

// Ways through the trie, one for each character that a piece may start with. The trie is larger
// than the near caches: as all ways take a step before one takes the next, their loads do not wait
// for each other.
struct Walkers {
    std::uint32_t place[kLongest];
    std::uint32_t cell[kLongest];
    std::uint32_t count = 0;

    void add(std::uint32_t at, std::uint32_t first, std::uint32_t is_there) noexcept {
        place[count] = at;
        cell[count] = first;
        count += is_there;
    }

    // All go a byte further, as far as they can. The scores are asked for before it is known which
    // of them are needed: they are read only after the last step.
    void step(const NodeTables& nodes, const std::uint8_t* text, PieceGrid& grid) noexcept {
        const std::uint32_t* const cells = nodes.trie.cells;
        const double* const scores = nodes.scores;
        std::uint32_t kept = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            const std::uint8_t byte = text[place[k] % kRow];
            const std::uint32_t node = SmallTrie::child(cell[k], byte);
            prefetch_line(&scores[node]);
            const std::uint32_t there = cells[node];
            const auto goes_on = static_cast<std::uint32_t>(SmallTrie::leads_to(there, byte));
            const std::uint32_t next = place[k] + 1;
            grid.add(next, node, goes_on & there / SmallTrie::kToken);
            place[kept] = next;
            cell[kept] = there;
            kept += goes_on;
        }
        count = kept;
    }
};

void find_pieces(const NodeTables& nodes, Bytes word, PieceGrid& grid) noexcept {
    const std::uint32_t* const cells = nodes.trie.cells;
    std::uint8_t text[kLongest + 1];
    std::copy(word.begin(), word.end(), text);
    text[word.size()] = Trie::kContinues;  // leads nowhere
    Walkers walkers;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t size = std::min<std::size_t>(char_size(word[at]), word.size() - at);
        const std::uint32_t node = first_node(nodes, word.subspan(at, size));
        const std::uint32_t cell = node == Trie::kNoNode ? 0 : cells[node];
        const auto place = static_cast<std::uint32_t>(kRow * at + at + size);
        grid.add(place, (cell & SmallTrie::kToken) != 0 ? node : Trie::kRoot, 1);
        walkers.add(place, cell, static_cast<std::uint32_t>(node != Trie::kNoNode));
        at += size;
    }
    while (walkers.count != 0) {
        walkers.step(nodes, text, grid);
    }
}

}  // namespace

// The best way to every end, from those to the begins of the pieces that end there:
//
//   more = score - best so far    more > doubt        take it
//                                -doubt < more        take the better; the end is close
//                                 more <= -doubt      keep the old
void ShortWay::find(const VocabView& vocab, Bytes word, double doubt) noexcept {
    PieceGrid grid;
    const NodeTables& nodes = vocab.nodes();
    find_pieces(nodes, word, grid);
    double best[kLongest + 1];
    std::uint8_t from[kLongest + 1];
    std::uint64_t close = 0;  // bit `end`
    best[0] = 0;
    for (std::uint32_t end = 1; end <= word.size(); ++end) {
        std::uint32_t begins = grid.begins[end];
        if (begins == 0) {
            continue;  // inside a character
        }
        const auto score = [&](unsigned begin) {
            return nodes.scores[grid.node[kRow * begin + end]] + best[begin];
        };
        auto begin = static_cast<unsigned>(std::countr_zero(begins));
        double most = score(begin);
        unsigned chosen = begin;
        bool is_close_here = false;
        while ((begins &= begins - 1) != 0) {
            begin = static_cast<unsigned>(std::countr_zero(begins));
            const double here = score(begin);
            const double more = here - most;
            is_close_here = more <= doubt && (is_close_here || more > -doubt);
            chosen = more > 0 ? begin : chosen;
            most = more > 0 ? here : most;
        }
        best[end] = most;
        from[end] = static_cast<std::uint8_t>(chosen);
        close |= std::uint64_t{is_close_here} << end;
    }
    count = 0;
    is_close = false;
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0; end = from[end]) {
        pieces[count++] = {from[end], end, grid.node[kRow * from[end] + end]};
        is_close |= (close >> end & 1) != 0;
    }
}

}  // namespace tokenmill::encode
