#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/bytes.h"
#include "base/characters.h"
#include "base/hash.h"
#include "vocab/adjacency_build.h"
#include "vocab/derive.h"
#include "vocab/junction_build.h"
#include "vocab/trie_build.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

constexpr std::uint8_t kMatchable = 1;
constexpr std::uint8_t kReachable = 2;

// Everything that is learnt while walking the tokens once.
struct Walk {
    std::vector<std::uint8_t> flags;
    std::vector<Derivation> kept;  // one merge a reachable token
    std::vector<TokenId> symbols;  // tokens that merging starts from
    JunctionBuilder junctions;
    AdjacencyBuilder adjacency;
    std::vector<Seed8> seeds8;
    std::vector<Seed16> seeds16;
    std::vector<std::uint32_t> seed_ids;
    std::vector<std::uint64_t> unreachable = std::vector<std::uint64_t>(256, 0);
    std::uint32_t unreachable_count = 0;
};

std::uint64_t seed_value(TokenId id, const std::vector<TokenId>& ids, bool ambiguous,
                         std::vector<std::uint32_t>& store) {
    if (ambiguous) {
        const std::uint64_t at = store.size();
        store.push_back(id);
        store.push_back(static_cast<std::uint32_t>(ids.size()));
        store.insert(store.end(), ids.begin(), ids.end());
        return pack_reference(kTagAmbiguous, at, 1);
    }
    if (ids.size() <= kInlineIds) {
        return pack_ids(ids.data(), static_cast<std::uint32_t>(ids.size()));
    }
    const std::uint64_t at = store.size();
    store.insert(store.end(), ids.begin(), ids.end());
    return pack_reference(kTagStored, at, static_cast<std::uint32_t>(ids.size()));
}

void add_seed(Bytes token, TokenId id, const std::vector<TokenId>& ids, bool ambiguous,
              Walk& walk) {
    const std::size_t size = token.size();
    if (size > 16 || std::memchr(token.data(), 0, size) != nullptr) {
        return;
    }
    const std::uint64_t value = seed_value(id, ids, ambiguous, walk.seed_ids);
    const std::uint64_t low = load_short(token.data(), std::min<std::size_t>(size, 8));
    if (size <= 8) {
        walk.seeds8.push_back({low, value});
    } else {
        walk.seeds16.push_back({{low, load_upper(token.data(), size)}, value});
    }
}

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
        const std::uint64_t h = hash_bytes(token) >> 50;
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
    } else if (!ids.empty() && token.back() == kWordEnd) {  // any other is no whole word
        add_seed(token.first(token.size() - 1), id, ids, ambiguous, walk);
    }
}

// Internal ids and their tokens. First the bytes: the tokens of bytes, or of ASCII characters.
struct Numbering {
    std::vector<std::uint32_t> internal;  // by id, kNoMerge for none
    std::vector<std::uint32_t> external;
    std::uint32_t first_byte_id = 0;
    std::uint32_t first_merged = 256;

    void add(TokenId id) {
        internal[id] = static_cast<std::uint32_t>(external.size());
        external.push_back(id);
    }
};

Numbering number_tokens(const VocabInput& input, const Deriver& deriver, const Walk& walk) {
    Numbering numbers;
    numbers.internal.assign(walk.flags.size(), kNoMerge);
    const bool is_bytes = input.kind == Kind::Bytes;
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
        std::size_t at = PairTable::kLine * (hash_word(key) >> shift);
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

// What is needed where tokens share a rank, which their internal ids cannot say.
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
            const std::uint64_t begin = input.token_offsets[merge.id];
            const unsigned pair = input.token_bytes[begin] << 8U | input.token_bytes[begin + 1];
            pairs[pair >> 6] |= std::uint64_t{1} << (pair & 63);
        }
    }
    if (has_ties) {
        out.add(kTiedRanks, ranks);
        out.add(kTiedPairs, pairs);
    }
}

// Unknown characters side by side are one, so no cut may part them.
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

void write_seeds(Walk& walk, BlobWriter& out) {
    const auto by_hash8 = [](const Seed8& a, const Seed8& b) {
        return hash_word(a.key) < hash_word(b.key);
    };
    const auto by_hash16 = [](const Seed16& a, const Seed16& b) {
        return hash_pair(a.key[0], a.key[1]) < hash_pair(b.key[0], b.key[1]);
    };
    std::sort(walk.seeds8.begin(), walk.seeds8.end(), by_hash8);
    std::sort(walk.seeds16.begin(), walk.seeds16.end(), by_hash16);
    out.add(kSeeds8, walk.seeds8);
    out.add(kSeeds16, walk.seeds16);
    out.add(kSeedIds, walk.seed_ids);
}

void write_texts(const VocabInput& input, BlobWriter& out) {
    out.add_bytes(kTokenBytes, input.token_bytes.data(), input.token_offsets.back());
    out.add_bytes(kTokenOffsets, input.token_offsets.data(), input.token_offsets.size_bytes(), 8);
    out.add_bytes(kDecodeBytes, input.decode_bytes.data(), input.decode_offsets.back());
    out.add_bytes(kDecodeOffsets, input.decode_offsets.data(), input.decode_offsets.size_bytes(),
                  8);
}

// May two sides of a junction be merged apart? Not where what lies between them can vanish, or
// where unknown characters on both sides would become one.
bool can_cut_words(const VocabInput& input, const Deriver& deriver) {
    if (input.kind == Kind::Characters) {
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

Scalars scalars_of(const VocabInput& input, const Walk& walk, const Numbering& numbers) {
    Scalars scalars{};
    scalars.token_count = static_cast<std::uint32_t>(walk.flags.size());
    scalars.internal_count = static_cast<std::uint32_t>(numbers.external.size());
    scalars.ignore_merges = input.ignore_merges ? 1U : 0U;
    scalars.unreachable_count = walk.unreachable_count;
    scalars.kind = input.kind;
    scalars.unk_id = input.unk_id;
    scalars.fuse_unk = input.fuse_unk ? 1U : 0U;
    scalars.max_characters = input.max_characters;
    scalars.drop_white = input.drop_white ? 1U : 0U;
    scalars.first_byte_id = input.byte_ids.empty() ? 0U : numbers.first_byte_id;
    scalars.first_merged = numbers.first_merged;
    scalars.whole_text = input.whole_text ? 1U : 0U;
    scalars.has_ends = input.has_ends ? 1U : 0U;
    return scalars;
}

Adjacency compile_merges(const VocabInput& input, const Deriver& deriver, Walk& walk,
                         BlobWriter& out) {
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (input.matchable[id] != 0 && !token.empty() && deriver.find(token) == id) {
            visit_token(id, token, deriver, input, walk);
        }
    }
    std::sort(walk.kept.begin(), walk.kept.end(),
              [](const Derivation& a, const Derivation& b) { return a.rank < b.rank; });
    const Numbering numbers = number_tokens(input, deriver, walk);
    write_pairs(walk.kept, numbers, out);
    write_ties(input, walk, numbers, out);
    out.add(kExternalIds, numbers.external);
    if (input.kind == Kind::Characters || input.has_ends) {
        out.add(kInternalIds, numbers.internal);
        if (input.fuse_unk && input.byte_ids.empty()) {
            join_unknown(deriver, walk.adjacency);
        }
    }
    const bool can_cut = can_cut_words(input, deriver) && !input.has_ends;
    if (input.kind == Kind::Characters) {
        walk.junctions.write_sides(can_cut, out);
    }
    walk.junctions.write(can_cut, out);
    out.add_value(kScalars, scalars_of(input, walk, numbers));
    return walk.adjacency.finish();
}

// Words are looked up: in the trie, from their first byte on.
void compile_words(const VocabInput& input, const Deriver& deriver, Walk& walk, BlobWriter& out) {
    std::vector<std::pair<std::string, std::uint32_t>> keys;
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (input.matchable[id] == 0 || token.empty() || deriver.find(token) != id) {
            continue;
        }
        walk.flags[id] = kMatchable | kReachable;
        const std::string text(token.begin(), token.end());
        keys.emplace_back(text, id);
        const std::string prefix(input.prefix.begin(), input.prefix.end());
        if (input.kind == Kind::WordPiece && text.size() > prefix.size() &&
            text.compare(0, prefix.size(), prefix) == 0) {
            keys.emplace_back(static_cast<char>(Trie::kContinues) + text.substr(prefix.size()), id);
        }
        if (input.kind != Kind::Unigram && count_characters(token) <= input.max_characters) {
            add_seed(token, id, {id}, false, walk);
        }
    }
    out.add(kTrie, build_trie(std::move(keys)));
    out.add_bytes(kScores, input.scores.data(), input.scores.size_bytes(), 8);
    walk.junctions.write(false, out);
    Numbering numbers;
    numbers.external.assign(256, VocabView::kNoToken);
    for (std::size_t byte = 0; byte < input.byte_ids.size(); ++byte) {
        numbers.external.push_back(input.byte_ids[byte]);
    }
    numbers.first_byte_id = 256;
    out.add(kExternalIds, numbers.external);
    Scalars scalars = scalars_of(input, walk, numbers);
    constexpr double kUnknownPenalty = 10.0;
    double least = 0.0;
    for (std::size_t i = 0; i < input.scores.size(); ++i) {
        least = i == 0 ? input.scores[0] : std::min(least, input.scores[i]);
    }
    scalars.unknown_score = least - kUnknownPenalty;
    out.add_value(kScalars, scalars);
}

}  // namespace

Adjacency compile_vocab(const VocabInput& input, BlobWriter& out) {
    const Deriver deriver(input);
    Walk walk;
    walk.flags.assign(input.token_offsets.size() - 1, 0);
    Adjacency adjacency;
    if (input.kind <= Kind::Characters) {
        adjacency = compile_merges(input, deriver, walk, out);
    } else {
        compile_words(input, deriver, walk, out);
    }
    write_seeds(walk, out);
    write_texts(input, out);
    out.add(kTokenFlags, walk.flags);
    out.add(kTokenIndex, deriver.index());
    out.add(kUnreachableFilter, walk.unreachable);
    return adjacency;
}

}  // namespace tokenmill::vocab
