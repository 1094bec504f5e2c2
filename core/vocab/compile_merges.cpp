// vocab: a vocabulary whose words are merged -> its sections.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/bytes.h"
#include "base/hash.h"
#include "vocab/characters_build.h"
#include "vocab/sure_pairs_build.h"
#include "vocab/walk.h"

namespace tokenmill::vocab {

namespace {

// Builds a token from its own bytes and records what that teaches.
void visit_token(TokenId id, Bytes token, const Deriver& deriver, const VocabInput& input,
                 Walk& walk) {
    const bool ignore_merges = input.ignore_merges;
    std::vector<TokenId> ids;
    Derivation last{kNoMerge, 0, 0, 0};
    deriver.merge(token, ids, &last);
    const bool reachable = ids.size() == 1 && ids[0] == id;
    walk.flags[id] = static_cast<std::uint8_t>(kMatchable | (reachable ? kReachable : 0));
    if (reachable && last.rank != kNoMerge) {
        walk.kept.push_back(last);
    } else if (reachable) {
        walk.symbols.push_back(id);
    }
    const bool ambiguous = !reachable && ignore_merges;
    if (ambiguous) {
        const auto h = static_cast<std::size_t>(hash_bytes(token) >> 50);
        walk.unreachable[h >> 6] |= std::uint64_t{1} << (h & 63);
        ++walk.unreachable_count;
    }
    // Else no text ever shows it: it cannot block a cut. Words that have ends are never cut.
    if ((reachable || ignore_merges) && !input.has_ends) {
        walk.junctions.add_token(token);
        walk.adjacency.add_token(token);
    }
    if (!ids.empty() && !input.has_ends) {
        add_seed(token, id, ids, ambiguous, walk);
    } else if (!ids.empty() && token.back() == kWordEnd) {  // only these are whole words
        add_seed(token.first(token.size() - 1), id, ids, ambiguous, walk);
    }
}

// Internal ids: bytes, tokens of unknown bytes, other symbols, then merged tokens in order of rank.
//
//   0 .. 255   256 ..      ..        first_merged ..
//   bytes      byte_ids    symbols   merged
Numbering number_tokens(const VocabInput& input, const Deriver& deriver, const Walk& walk) {
    Numbering numbers;
    numbers.internal.assign(walk.flags.size(), kNoMerge);
    const bool is_bytes = input.kind == ModelKind::Bytes;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool is_symbol = is_bytes || byte < 0x80;
        const TokenId id =
            is_symbol ? deriver.byte_id(static_cast<std::uint8_t>(byte)) : VocabView::kNoToken;
        if (id != VocabView::kNoToken) {
            numbers.internal[id] = byte;
        }
        numbers.external.push_back(id);
    }
    if (!is_bytes) {
        numbers.first_byte_id = 256;
        for (const std::uint32_t id : input.byte_ids) {
            numbers.external.push_back(id);  // never found by its text: no internal id for it
        }
    }
    if (!is_bytes || input.has_ends) {
        for (const TokenId id : walk.symbols) {
            if (numbers.internal[id] == kNoMerge) {
                numbers.add(id);
            }
        }
    }
    numbers.first_merged = static_cast<std::uint32_t>(numbers.external.size());
    for (const Derivation& merge : walk.kept) {
        numbers.add(merge.id);
    }
    return numbers;
}

// A hash table of cache lines, see vocab/pairs.h.
void write_pairs(const std::vector<Derivation>& kept, const Numbering& numbers, BlobWriter& out) {
    const std::vector<std::uint32_t>& internal = numbers.internal;
    std::size_t lines = 128;
    std::uint32_t shift = 64 - 7;
    while (lines * PairTable::kLine < 2 * kept.size()) {  // half full: one line in 20 overflows
        lines *= 2;
        --shift;
    }
    std::vector<std::uint64_t> slots(lines * PairTable::kLine, 0);
    std::vector<std::uint32_t> byte_pairs(65536, kNoMerge);
    for (const Derivation& merge : kept) {
        const std::uint32_t left = internal[merge.left];
        const std::uint32_t right = internal[merge.right];
        const std::uint32_t made = internal[merge.id];
        if (left == kNoMerge || right == kNoMerge) {
            throw Error(ErrorCode::BadSpec, "vocabulary: token " + std::to_string(merge.id) +
                                                " is built from a part that cannot be built");
        }
        const std::uint64_t key = PairTable::key_of(left, right);
        std::size_t at = PairTable::kLine * static_cast<std::size_t>(hash_word(key) >> shift);
        while (slots[at] != 0) {  // slots of a line fill in order, so a free one ends a search
            at = (at + 1) & (slots.size() - 1);
        }
        slots[at] = key << kIdBits | made;
        if (left < 256 && right < 256) {
            byte_pairs[left << 8 | right] = made;
        }
    }
    out.add(kPairSlots, slots);
    out.add(kBytePairs, byte_pairs);
}

// Ranks by internal id, for vocabularies in which tokens share a rank: there the order of internal
// ids does not decide which merge comes first.
void write_ties(const VocabInput& input, const Walk& walk, const Numbering& numbers,
                BlobWriter& out) {
    std::vector<std::uint32_t> ranks(numbers.external.size(), 0);
    std::vector<std::uint64_t> pairs(1024, 0);
    bool has_ties = false;
    for (std::size_t i = 0; i < walk.kept.size(); ++i) {
        const Derivation& merge = walk.kept[i];
        ranks[numbers.internal[merge.id]] = merge.rank;
        const bool is_tied = (i > 0 && walk.kept[i - 1].rank == merge.rank) ||
                             (i + 1 < walk.kept.size() && walk.kept[i + 1].rank == merge.rank);
        if (is_tied) {
            has_ties = true;
            const auto begin = static_cast<std::size_t>(input.token_offsets[merge.id]);
            const unsigned pair = byte_pair(input.token_bytes[begin], input.token_bytes[begin + 1]);
            pairs[pair >> 6] |= std::uint64_t{1} << (pair & 63);
        }
    }
    if (has_ties) {
        out.add(kTiedRanks, ranks);
        out.add(kTiedPairs, pairs);
    }
}

// Neighbouring unknown characters become one, so no cut may separate them.
void join_unknown(const Deriver& deriver, AdjacencyBuilder& adjacency) {
    std::vector<std::uint8_t> unknown = {0x80};
    for (unsigned byte = 0; byte < 0x80; ++byte) {
        if (deriver.byte_id(static_cast<std::uint8_t>(byte)) == VocabView::kNoToken) {
            unknown.push_back(static_cast<std::uint8_t>(byte));
        }
    }
    for (const std::uint8_t left : unknown) {
        for (const std::uint8_t right : unknown) {
            const std::uint8_t pair[] = {left, right};
            adjacency.add_token(pair);
        }
    }
}

// May the two sides of a junction be merged separately? Not if bytes between them can vanish, and
// not if unknown characters on both sides would become one.
bool can_cut_words(const VocabInput& input, const Deriver& deriver) {
    if (input.kind == ModelKind::Characters) {
        return !input.byte_ids.empty() || (input.unk_id != VocabView::kNoToken && !input.fuse_unk);
    }
    bool can_cut = true;
    for (unsigned byte = 0x80; byte < 0xF0; ++byte) {
        const bool in_char3 = byte < 0xC0 || byte >= 0xE0;
        can_cut &=
            !in_char3 || deriver.byte_id(static_cast<std::uint8_t>(byte)) != VocabView::kNoToken;
    }
    return can_cut;
}

}  // namespace

// One walk over the tokens, each built from its own bytes, then the tables.
Adjacency compile_merges(const VocabInput& input, const Deriver& deriver, Walk& walk,
                         BlobWriter& out) {
    for_each_token(input, deriver,
                   [&](TokenId id, Bytes token) { visit_token(id, token, deriver, input, walk); });
    std::sort(walk.kept.begin(), walk.kept.end(),
              [](const Derivation& a, const Derivation& b) { return a.rank < b.rank; });
    const Numbering numbers = number_tokens(input, deriver, walk);
    write_pairs(walk.kept, numbers, out);
    out.add(kSurePairTable, find_sure_pairs(input, walk.kept, numbers));
    write_ties(input, walk, numbers, out);
    out.add(kExternalIds, numbers.external);
    if (input.kind == ModelKind::Characters || input.has_ends) {
        out.add(kInternalIds, numbers.internal);
        if (input.fuse_unk && input.byte_ids.empty()) {
            join_unknown(deriver, walk.adjacency);
        }
    }
    const bool can_cut = can_cut_words(input, deriver) && !input.has_ends;
    if (input.kind == ModelKind::Characters) {
        write_characters(input, walk, numbers, out);
        walk.junctions.write_sides(can_cut, out);
    }
    walk.junctions.write(can_cut, out);
    out.add_value(kScalars, scalars_of(input, walk, numbers));
    return walk.adjacency.finish();
}

}  // namespace tokenmill::vocab
