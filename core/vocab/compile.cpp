#include <algorithm>
#include <unordered_set>

#include "base/bytes.h"
#include "base/hash.h"
#include "vocab/derive.h"
#include "vocab/junction_build.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

constexpr std::uint8_t kMatchable = 1;
constexpr std::uint8_t kReachable = 2;

// Everything that is learnt while walking the tokens once.
struct Walk {
    std::vector<std::uint8_t> flags;
    std::vector<Derivation> kept;  // one merge a reachable token
    JunctionBuilder junctions;
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

void visit_token(TokenId id, Bytes token, const Deriver& deriver, bool ignore_merges, Walk& walk) {
    std::vector<TokenId> ids;
    Derivation last{};
    deriver.merge(token, ids, &last);
    const bool reachable = ids.size() == 1 && ids[0] == id;
    walk.flags[id] = static_cast<std::uint8_t>(kMatchable | (reachable ? kReachable : 0));
    if (reachable && token.size() > 1) {
        walk.kept.push_back(last);
    }
    const bool ambiguous = !reachable && ignore_merges;
    if (ambiguous) {
        const std::uint64_t h = hash_bytes(token) >> 50;
        walk.unreachable[h >> 6] |= std::uint64_t{1} << (h & 63);
        ++walk.unreachable_count;
    }
    if (reachable || ignore_merges) {  // else no text ever shows it: it cannot block a cut
        walk.junctions.add_token(token);
    }
    add_seed(token, id, ids, ambiguous, walk);
}

std::vector<std::uint32_t> write_pairs(const Deriver& deriver, std::vector<Derivation>& kept,
                                       std::size_t count, BlobWriter& out) {
    std::sort(kept.begin(), kept.end(),
              [](const Derivation& a, const Derivation& b) { return a.rank < b.rank; });
    std::vector<std::uint32_t> internal(count, kNoMerge);
    std::vector<std::uint32_t> external;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const TokenId id = deriver.byte_id(static_cast<std::uint8_t>(byte));
        if (id != VocabView::kNoToken) {
            internal[id] = byte;
        }
        external.push_back(id);
    }
    for (const Derivation& merge : kept) {
        internal[merge.id] = static_cast<std::uint32_t>(external.size());
        external.push_back(merge.id);
    }
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
    out.add(kExternalIds, external);
    return external;
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

}  // namespace

void compile_vocab(const VocabInput& input, BlobWriter& out) {
    const Deriver deriver(input);
    const std::size_t count = input.token_offsets.size() - 1;
    Walk walk;
    walk.flags.assign(count, 0);
    for (TokenId id = 0; id < count; ++id) {
        const std::uint64_t begin = input.token_offsets[id];
        const Bytes token = input.token_bytes.subspan(begin, input.token_offsets[id + 1] - begin);
        if (input.matchable[id] != 0 && !token.empty() && deriver.find(token) == id) {
            visit_token(id, token, deriver, input.ignore_merges, walk);
        }
    }
    const auto external = write_pairs(deriver, walk.kept, count, out);
    // A byte that is dropped makes its neighbours touch: then no junction may be cut.
    bool can_cut = true;
    for (unsigned byte = 0x80; byte < 0xF0; ++byte) {
        const bool in_char3 = byte < 0xC0 || byte >= 0xE0;
        can_cut &=
            !in_char3 || deriver.byte_id(static_cast<std::uint8_t>(byte)) != VocabView::kNoToken;
    }
    walk.junctions.write(can_cut, out);
    write_seeds(walk, out);
    out.add_bytes(kTokenBytes, input.token_bytes.data(), input.token_offsets.back());
    out.add_bytes(kTokenOffsets, input.token_offsets.data(), input.token_offsets.size_bytes(), 8);
    out.add_bytes(kDecodeBytes, input.decode_bytes.data(), input.decode_offsets.back());
    out.add_bytes(kDecodeOffsets, input.decode_offsets.data(), input.decode_offsets.size_bytes(),
                  8);
    out.add(kTokenFlags, walk.flags);
    out.add(kTokenIndex, deriver.index());
    out.add(kUnreachableFilter, walk.unreachable);
    out.add_value(kScalars, Scalars{static_cast<std::uint32_t>(count),
                                    static_cast<std::uint32_t>(external.size()),
                                    input.ignore_merges ? 1U : 0U, walk.unreachable_count});
}

}  // namespace tokenmill::vocab
