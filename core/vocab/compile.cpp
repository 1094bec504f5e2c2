// vocab: a VocabInput -> the sections of a compiled model that all kinds have.
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"
#include "vocab/walk.h"

namespace tokenmill::vocab {

namespace {

// See vocab/value.h for the forms of a value.
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

// Sorted by hash: filling a table then walks through memory forward.
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

// What tokens are in a text, and what ids decode to: not always the same.
void write_texts(const VocabInput& input, BlobWriter& out) {
    out.add_bytes(kTokenBytes, input.token_bytes.data(),
                  static_cast<std::size_t>(input.token_offsets.back()));
    out.add_bytes(kTokenOffsets, input.token_offsets.data(), input.token_offsets.size_bytes(), 8);
    out.add_bytes(kDecodeBytes, input.decode_bytes.data(),
                  static_cast<std::size_t>(input.decode_offsets.back()));
    out.add_bytes(kDecodeOffsets, input.decode_offsets.data(), input.decode_offsets.size_bytes(),
                  8);
}

}  // namespace

// Words with a NUL have no key of their own: zeros pad shorter ones.
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

// All numbers and flags of the vocabulary, in one section.
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

// Each kind writes its own sections; the rest is the same for all.
LearntCuts compile_vocab(const VocabInput& input, BlobWriter& out) {
    const Deriver deriver(input);
    Walk walk;
    walk.flags.assign(input.token_offsets.size() - 1, 0);
    LearntCuts learnt;
    switch (input.kind) {
        case ModelKind::Bytes:
        case ModelKind::Characters:
            learnt.adjacency = compile_merges(input, deriver, walk, out);
            break;
        case ModelKind::Unigram:
            learnt.inside = compile_unigram(input, deriver, walk, out);
            break;
        case ModelKind::WordPiece:
            compile_wordpiece(input, deriver, walk, out);
            break;
        case ModelKind::WordLevel:
            compile_wordlevel(input, deriver, walk, out);
            break;
    }
    write_seeds(walk, out);
    write_texts(input, out);
    out.add(kTokenFlags, walk.flags);
    out.add(kTokenIndex, deriver.index());
    out.add(kUnreachableFilter, walk.unreachable);
    return learnt;
}

}  // namespace tokenmill::vocab
