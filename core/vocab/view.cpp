// vocab: the sections of a compiled model -> a checked view of them. A model file may be damaged or
// made up, so every number that is followed later is checked here, once. The loops do not stop in
// the middle, so that the compiler can check several numbers at a time.
#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "vocab/view_check.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

void check_offsets(std::span<const std::uint64_t> offsets, std::size_t size_bytes) {
    if (offsets.front() != 0 || offsets.back() != size_bytes) {
        corrupt("token offsets do not cover the token bytes");
    }
    std::uint64_t signs = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        signs |= offsets[i] | (offsets[i] - offsets[i - 1]);
    }
    if (signs >> 63 != 0) {
        corrupt("token offsets run backwards");
    }
}

bool is_power_of_two(std::size_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

std::uint32_t log2_of(std::size_t value) {
    std::uint32_t bits = 0;
    while (std::size_t{1} << bits < value) {
        ++bits;
    }
    return bits;
}

// A look-up ends at a free slot: without one it would never end.
template <typename T>
void check_table(std::span<const T> table, const char* name) {
    for (const T slot : table) {
        if (slot == 0) {
            return;
        }
    }
    corrupt(name);
}

// Checks packed values whose ids must be below a limit: those with a tag refer to stored ids.
class ValueCheck {
public:
    ValueCheck(std::uint32_t id_limit, std::span<const std::uint32_t> stored)
        : ids_(std::uint64_t{id_limit} - 1), stored_(stored), id_limit_(id_limit) {}

    // All ids inside of values, whether or not they count.
    void add(std::uint64_t value) noexcept {
        const std::uint64_t ids = value & ((value >> 63) - 1);  // 0 for a reference
        ids_.add(ids & kIdMask);
        ids_.add(ids >> kIdBits & kIdMask);
        ids_.add(ids >> (2 * kIdBits) & kIdMask);
        tags_ |= ids << 1;  // no number of ids has the second bit
        has_references_ |= value >> 63 != 0;
    }
    void add_reference(std::uint64_t value) noexcept {
        const std::uint32_t tag = value_tag(value);
        const auto at = static_cast<std::size_t>(reference_position(value));
        const bool is_ambiguous = tag == kTagAmbiguous;
        if ((tag != kTagStored && !is_ambiguous) || at + 2 > stored_.size()) {
            tags_ |= kWrong;
            return;
        }
        const std::uint32_t count = is_ambiguous ? stored_[at + 1] : reference_count(value);
        const std::size_t begin = is_ambiguous ? at + 2 : at;
        const bool is_known = !is_ambiguous || stored_[at] < id_limit_;
        if (!is_known || count > kMostSeedIds || count > stored_.size() - begin ||
            has_above(stored_.subspan(begin, count), id_limit_)) {
            tags_ |= kWrong;
        }
    }
    [[nodiscard]] bool has_references() const noexcept { return has_references_; }
    [[nodiscard]] bool failed() const noexcept { return ids_.failed() || tags_ >> 63 != 0; }

private:
    static constexpr std::uint64_t kWrong = std::uint64_t{1} << 63;
    static constexpr std::uint32_t kMostSeedIds = 32;  // of 16 bytes, and the end of a word

    LimitCheck<std::uint64_t> ids_;
    std::span<const std::uint32_t> stored_;
    std::uint32_t id_limit_;
    std::uint64_t tags_ = 0;
    bool has_references_ = false;
};

template <typename Seed>
void check_seeds(std::span<const Seed> seeds, ValueCheck check) {
    for (const Seed& seed : seeds) {
        check.add(seed.value);
    }
    if (check.has_references()) {
        for (const Seed& seed : seeds) {
            if (seed.value >> 63 != 0) {
                check.add_reference(seed.value);
            }
        }
    }
    if (check.failed()) {
        corrupt("a seed refers to ids that do not exist");
    }
}

}  // namespace

void corrupt(const char* problem) {
    throw Error(ErrorCode::CorruptModel, std::string("compiled vocabulary: ") + problem);
}

// Part of the format: the index of tokens is ordered by it.
std::uint64_t hash_bytes(Bytes bytes) noexcept {
    std::uint64_t h = bytes.size() * kSecond;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        h = hash_pair(h, load<std::uint64_t>(bytes.data() + i));
    }
    return hash_pair(h, load_short(bytes.data() + i, bytes.size() - i));
}

// The sections that all kinds have, then those of the kind.
VocabView::VocabView(const BlobReader& blob) {
    scalars_ = blob.need<Scalars>(kScalars, 1)[0];
    const std::size_t n = scalars_.token_count;
    bytes_ = blob.get<std::uint8_t>(kTokenBytes);
    decode_ = blob.get<std::uint8_t>(kDecodeBytes);
    offsets_ = blob.need<std::uint64_t>(kTokenOffsets, n + 1);
    decode_offsets_ = blob.need<std::uint64_t>(kDecodeOffsets, n + 1);
    check_offsets(offsets_, bytes_.size());
    check_offsets(decode_offsets_, decode_.size());
    flags_ = blob.need<std::uint8_t>(kTokenFlags, n);
    index_ = blob.get<std::uint32_t>(kTokenIndex);
    unreachable_ = blob.need<std::uint64_t>(kUnreachableFilter, 256);
    external = blob.need<std::uint32_t>(kExternalIds, scalars_.internal_count);
    const auto parts = blob.get<std::uint64_t>(kJunctionParts);
    if (!is_power_of_two(index_.size()) || !is_power_of_two(parts.size()) || n == 0 ||
        scalars_.internal_count < 256 || scalars_.kind > ModelKind::WordLevel) {
        corrupt("a hash table has an impossible size, or the kind is unknown");
    }
    if (n > kIdMask + 1 || scalars_.internal_count > kIdMask + 1) {
        corrupt("an id beyond 2^20");
    }
    if (scalars_.whole_text != 0 && scalars_.kind != ModelKind::Unigram) {
        corrupt("only Unigram adds up scores over a whole text");
    }
    junctions = {blob.need<std::uint32_t>(kJunctionFilter, 1U << JunctionFilter::kWordBits).data(),
                 blob.need<std::uint8_t>(kJunctionFlags, 65536).data(), parts.data(),
                 static_cast<std::uint32_t>(parts.size() - 1)};
    seeds8 = blob.get<Seed8>(kSeeds8);
    seeds16 = blob.get<Seed16>(kSeeds16);
    seed_ids = blob.get<std::uint32_t>(kSeedIds);
    check_table(index_, "no free slot in the index of tokens");
    check_table(parts, "no free slot among the junction parts");
    check_numbers();
    if (is_merged()) {
        view_merges(blob);
    } else {
        view_words(blob);
    }
}

// The table of pairs, and a check that no merge makes an id that does not exist.
void VocabView::view_merges(const BlobReader& blob) {
    const auto slots = blob.get<std::uint64_t>(kPairSlots);
    if (!is_power_of_two(slots.size()) || slots.size() < std::size_t{2} * PairTable::kLine) {
        corrupt("the table of pairs has an impossible size");
    }
    check_table(slots, "no free slot among the pairs");
    const std::size_t lines = slots.size() / PairTable::kLine;
    const auto byte_pairs = blob.need<std::uint32_t>(kBytePairs, 65536);
    pairs = {slots.data(), byte_pairs.data(), 64 - log2_of(lines),
             static_cast<std::uint32_t>(lines - 1)};
    LimitCheck<std::uint64_t> made(external.size() - 1);
    for (const std::uint64_t slot : slots) {
        made.add(slot & kIdMask);
    }
    LimitCheck<std::uint64_t> made_surely(external.size());
    sure_pairs = blob.need<SurePair>(kSurePairTable, kSurePairs);
    for (const SurePair pair : sure_pairs) {
        made_surely.add((pair + 1) & kIdMask);  // kNeverMade becomes 0
    }
    if (made.failed() || made_surely.failed() ||
        has_some_above(byte_pairs, scalars_.internal_count)) {
        corrupt("a merge makes an internal id that does not exist");
    }
    view_ties(blob);
    if (kind() == ModelKind::Characters || has_ends()) {
        internal = blob.need<std::uint32_t>(kInternalIds, scalars_.token_count);
        if (has_some_above(internal, scalars_.internal_count)) {
            corrupt("a token has an internal id that does not exist");
        }
    }
    if (kind() == ModelKind::Characters) {
        view_characters(blob);
        return;
    }
    for (unsigned byte = 0; byte < 0xF5; ++byte) {  // C0, C1 and F5 on never occur in UTF-8
        drops_bytes_ |= byte != 0xC0 && byte != 0xC1 && external[byte] == kNoToken;
    }
}

// Only vocabularies in which tokens share a rank have these sections.
void VocabView::view_ties(const BlobReader& blob) {
    tied_ranks = blob.get<std::uint32_t>(kTiedRanks);
    tied_pairs_ = blob.get<std::uint64_t>(kTiedPairs);
    if (!tied_ranks.empty() &&
        (tied_ranks.size() != external.size() || tied_pairs_.size() != 1024)) {
        corrupt("ranks that tokens share do not fit the vocabulary");
    }
}

// A token with a shared rank starts with one of these pairs of bytes; a word without any holds
// none.
bool VocabView::has_tied_pair(Bytes word) const noexcept {
    for (std::size_t i = 1; i < word.size(); ++i) {
        const unsigned pair = byte_pair(word[i - 1], word[i]);
        if ((tied_pairs_[pair >> 6] >> (pair & 63) & 1) != 0) {
            return true;
        }
    }
    return false;
}

// What the compiler found out about characters, see characters_build.h.
void VocabView::view_characters(const BlobReader& blob) {
    char_symbols = blob.need<std::uint32_t>(kCharSymbols, kBasicCodes);
    if (has_some_above(char_symbols, scalars_.internal_count)) {
        corrupt("a character has an internal id that does not exist");
    }
    view_char_values(blob.need<std::uint64_t>(kCharValues, kBasicCodes));
    char_sides = blob.get<std::uint8_t>(kCharSides);
    if (char_sides.size() != (char_sides.empty() ? 0U : kBasicCodes)) {
        corrupt("the sides of characters do not cover them");
    }
}

// Characters have few ids, so that none of them are stored elsewhere.
void VocabView::view_char_values(std::span<const std::uint64_t> values) {
    ValueCheck check(scalars_.token_count, {});
    for (const std::uint64_t value : values) {
        check.add(value);
    }
    if (check.failed() || check.has_references()) {
        corrupt("a character has ids that do not exist");
    }
    char_values = values;
}

// Every number that a look-up follows must lead into its table.
void VocabView::check_numbers() const {
    const std::uint32_t n = scalars_.token_count;
    if (has_above(index_, n + 1)) {
        corrupt("the index names a token that does not exist");
    }
    if (has_some_above(external.first(256), n) || has_above(external.subspan(256), n)) {
        corrupt("an internal id belongs to no token");
    }
    const bool has_bytes = scalars_.first_byte_id != 0;
    if ((has_bytes && std::size_t{scalars_.first_byte_id} + 256 > external.size()) ||
        (scalars_.unk_id >= n && scalars_.unk_id != kNoToken)) {
        corrupt("the id of the unknown token does not exist");
    }
    check_seeds(seeds8, {n, seed_ids});
    check_seeds(seeds16, {n, seed_ids});
}

Bytes VocabView::token_bytes(TokenId id) const noexcept {
    return between(bytes_, offsets_[id], offsets_[id + 1]);
}

Bytes VocabView::decode_bytes(TokenId id) const noexcept {
    return between(decode_, decode_offsets_[id], decode_offsets_[id + 1]);
}

TokenId VocabView::find(Bytes token) const noexcept {
    const std::size_t mask = index_.size() - 1;
    for (std::size_t at = hash_bytes(token) >> 20 & mask;; at = (at + 1) & mask) {
        const std::uint32_t entry = index_[at];  // id + 1, 0 is free
        if (entry == 0) {
            return kNoToken;
        }
        const Bytes other = token_bytes(entry - 1);
        if (other.size() == token.size() &&
            std::memcmp(other.data(), token.data(), token.size()) == 0) {
            return entry - 1;
        }
    }
}

// A filter of 16384 bits: few words pass it that are not in question.
bool VocabView::maybe_unreachable(Bytes word) const noexcept {
    if (scalars_.unreachable_count == 0) {
        return false;
    }
    const auto h = static_cast<std::size_t>(hash_bytes(word) >> 50);  // 14 bits: 16384 filter bits
    return (unreachable_[h >> 6] >> (h & 63) & 1) != 0;
}

}  // namespace tokenmill::vocab
