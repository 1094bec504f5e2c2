#include <algorithm>
#include <cmath>
#include <limits>
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

// Scores of which sums of so many are exact: all are multiples of a power of two.
bool adds_up_exactly(std::span<const double> scores, double largest) {
    constexpr double kMost = 0x1p53;
    double unit = 1;
    for (const double score : scores) {
        while (score / unit != std::floor(score / unit)) {
            unit /= 2;
            if (largest / unit * kLongestCutWord * 2 > kMost) {
                return false;
            }
        }
    }
    return largest / unit * kLongestCutWord * 2 <= kMost;
}

// Is a token surely what it becomes when it is looked up: better than all pieces of it together?
class SelfTest {
public:
    SelfTest(const std::vector<TrieNode>& nodes, std::span<const double> scores, double unknown,
             double doubt)
        : trie_{nodes.data(), static_cast<std::uint32_t>(nodes.size())},
          scores_(scores),
          unknown_(unknown),
          margin_(kMargin + static_cast<double>(kLongestSeed) * doubt) {}

    static constexpr std::size_t kLongestSeed = 16;

    [[nodiscard]] bool stands_alone(Bytes token, double score) {
        constexpr double kNone = -std::numeric_limits<double>::infinity();
        best_.assign(token.size() + 1, kNone);
        best_[0] = 0;
        for (std::size_t at = 0; at < token.size(); ++at) {
            if (best_[at] == kNone) {
                continue;
            }
            const std::size_t behind = std::min(at + char_bytes(token[at]), token.size());
            best_[behind] = std::max(best_[behind], best_[at] + unknown_);
            std::uint32_t node = Trie::kRoot;
            for (std::size_t end = at; end < token.size(); ++end) {
                node = trie_.step(node, token[end]);
                if (node == Trie::kNoNode) {
                    break;
                }
                const bool is_whole = at == 0 && end + 1 == token.size();
                if (trie_.nodes[node].token != 0 && !is_whole) {
                    const double piece = scores_[trie_.nodes[node].token - 1];
                    best_[end + 1] = std::max(best_[end + 1], best_[at] + piece);
                }
            }
        }
        return score > best_.back() + margin_;
    }

private:
    static constexpr double kMargin = 1e-6;

    Trie trie_;
    std::span<const double> scores_;
    double unknown_;
    double margin_;  // more than what rounding can do, wherever the token stands
    std::vector<double> best_;
};

void seed_pieces(const VocabInput& input, SelfTest test, Walk& walk) {
    for (TokenId id = 0; id < walk.flags.size(); ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (walk.flags[id] != 0 && id != input.unk_id && token.size() <= SelfTest::kLongestSeed &&
            test.stands_alone(token, input.scores[id])) {
            add_seed(token, id, {id}, false, walk);
        }
    }
}

// See VocabView::doubt. What stands before a piece adds the same to all ways through it, but is
// rounded with them: every sum by half a unit of its last place at the most. That is an error for
// each way, with and without what stands before, so that four times as much decides.
double doubt_of(std::span<const double> scores, double unknown_score) {
    double largest = std::abs(unknown_score);
    for (const double score : scores) {
        largest = std::max(largest, std::abs(score));
    }
    std::vector<double> all(scores.begin(), scores.end());
    all.push_back(unknown_score);
    if (adds_up_exactly(all, largest)) {
        return 0;
    }
    constexpr double kHalfUnit = 0x1p-53;
    return 4 * kHalfUnit * (2 * kLongestCutWord) * largest;
}

// A word may be cut between characters that no token holds side by side, unless neither is a token:
// neighbouring unknown characters become one.
InsideCuts learn_cuts(const std::vector<bool>& is_token, Walk& walk) {
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        if (!is_token[code]) {
            walk.junctions.add_unknown(code);
        }
    }
    return walk.adjacency.finish_inside(is_token);
}

void note_character(Bytes token, std::vector<bool>& is_token) {
    if (token.size() == 1 && token[0] < 0x80) {
        is_token[token[0]] = true;
    } else if (token.size() == 3 && (token[0] & 0xF0) == 0xE0) {
        is_token[(token[0] & 15U) << 12 | (token[1] & 63U) << 6 | (token[2] & 63U)] = true;
    }
}

// Words are looked up: in the trie, from their first byte on.
InsideCuts compile_words(const VocabInput& input, const Deriver& deriver, Walk& walk,
                         BlobWriter& out) {
    const bool can_cut = input.kind == Kind::Unigram;
    std::vector<bool> is_token(0x10000);
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
        if (can_cut) {
            walk.junctions.add_token(token);
            walk.adjacency.add_token(token);
            note_character(token, is_token);
        }
        if (input.kind != Kind::Unigram && count_characters(token) <= input.max_characters) {
            add_seed(token, id, {id}, false, walk);
        }
    }
    const std::vector<TrieNode> nodes = build_trie(std::move(keys));
    out.add(kTrie, nodes);
    out.add_bytes(kScores, input.scores.data(), input.scores.size_bytes(), 8);
    const InsideCuts inside = learn_cuts(is_token, walk);
    // Where next to all wide characters are unknown, cuts are not worth their search.
    constexpr std::ptrdiff_t kFewWide = 2000;
    const auto n_wide = std::count(is_token.begin() + 0x800, is_token.end(), true);
    walk.junctions.write(can_cut && n_wide > kFewWide, out);
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
    if (can_cut) {
        const double doubt = doubt_of(input.scores, scalars.unknown_score);
        out.add_value(kDoubt, doubt);
        seed_pieces(input, SelfTest(nodes, input.scores, scalars.unknown_score, doubt), walk);
    }
    return inside;
}

}  // namespace

LearntCuts compile_vocab(const VocabInput& input, BlobWriter& out) {
    const Deriver deriver(input);
    Walk walk;
    walk.flags.assign(input.token_offsets.size() - 1, 0);
    LearntCuts learnt;
    if (input.kind <= Kind::Characters) {
        learnt.adjacency = compile_merges(input, deriver, walk, out);
    } else {
        learnt.inside = compile_words(input, deriver, walk, out);
    }
    write_seeds(walk, out);
    write_texts(input, out);
    out.add(kTokenFlags, walk.flags);
    out.add(kTokenIndex, deriver.index());
    out.add(kUnreachableFilter, walk.unreachable);
    return learnt;
}

}  // namespace tokenmill::vocab
