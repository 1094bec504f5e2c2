// vocab: the sections of a compiled model -> a checked view of them. A model file may be damaged or
// made up, so every number that is followed later is checked here, once. The loops have no way out
// in the middle, so that the compiler can check several numbers at a time.
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
    unsigned wrong = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        wrong |= static_cast<unsigned>(offsets[i] < offsets[i - 1]);
    }
    if (wrong != 0) {
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

// A value with a tag refers to stored ids, which must exist.
[[nodiscard]] unsigned is_lost(std::uint64_t value, std::size_t stored) {
    const std::uint32_t tag = value_tag(value);
    const std::uint64_t last =
        reference_position(value) + (tag == kTagAmbiguous ? 2 : reference_count(value));
    const bool is_reference = tag == kTagStored || tag == kTagAmbiguous;
    return static_cast<unsigned>(tag > kInlineIds) &
           (static_cast<unsigned>(!is_reference) | static_cast<unsigned>(last > stored));
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
    pairs = {slots.data(), blob.need<std::uint32_t>(kBytePairs, 65536).data(), 64 - log2_of(lines),
             static_cast<std::uint32_t>(lines - 1)};
    const auto check_internal = [&](std::uint32_t made) {
        if (made >= external.size() && made != kNoMerge) {
            corrupt("a merge makes an internal id that does not exist");
        }
    };
    unsigned wrong = 0;
    for (const std::uint64_t slot : slots) {
        const std::uint32_t made = static_cast<std::uint32_t>(slot) & kIdMask;
        wrong |= static_cast<unsigned>(made >= external.size());
    }
    if (wrong != 0) {
        corrupt("a merge makes an internal id that does not exist");
    }
    for (std::size_t i = 0; i < 65536; ++i) {
        check_internal(pairs.byte_pairs[i]);
    }
    sure_pairs = blob.need<SurePair>(kSurePairTable, kSurePairs);
    for (const SurePair pair : sure_pairs) {
        check_internal(made_of(pair) == kNeverMade ? kNoMerge : made_of(pair));
    }
    view_ties(blob);
    if (kind() == ModelKind::Characters || has_ends()) {
        internal = blob.need<std::uint32_t>(kInternalIds, scalars_.token_count);
        for (const std::uint32_t number : internal) {
            check_internal(number);
        }
    }
    if (kind() == ModelKind::Characters) {
        list_characters();
        char_sides = blob.get<std::uint8_t>(kCharSides);
        if (char_sides.size() != (char_sides.empty() ? 0U : 65536U)) {
            corrupt("the sides of characters do not cover them");
        }
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
        const unsigned pair = word[i - 1] << 8U | word[i];
        if ((tied_pairs_[pair >> 6] >> (pair & 63) & 1) != 0) {
            return true;
        }
    }
    return false;
}

// Characters of two and three bytes by code point: unknown ones first, then those that are tokens.
void VocabView::list_characters() {
    constexpr std::uint32_t kCodes = 0x10000;
    char_symbols.assign(kCodes, kNoMerge);
    char_values.assign(kCodes, unk_id() == kNoToken ? 0 : pack_ids(&scalars_.unk_id, 1));
    const std::uint32_t* const bytes = external.data() + scalars_.first_byte_id;
    for (std::uint32_t code = 0x800; scalars_.first_byte_id != 0 && code < kCodes; ++code) {
        std::uint8_t text[3];
        encode3(code, text);
        const std::uint32_t ids[3] = {bytes[text[0]], bytes[text[1]], bytes[text[2]]};
        char_values[code] = pack_ids(ids, 3);
    }
    for (TokenId id = 0; id < scalars_.token_count; ++id) {
        const Bytes text = token_bytes(id);
        const bool is_one = (text.size() == 2 || text.size() == 3) && text[0] >= 0xC0 &&
                            char_size(text[0]) == text.size();
        if (!is_one || (flags_[id] & 1) == 0 || internal[id] == kNoMerge) {
            continue;
        }
        const std::uint32_t code = decode_char(text.data(), char_size(text[0]));
        char_symbols[code] = internal[id];
        char_values[code] = pack_ids(&id, 1);
    }
}

// Every number that a look-up follows must lead into its table.
void VocabView::check_numbers() const {
    unsigned wrong = 0;
    for (const std::uint32_t entry : index_) {
        wrong |= static_cast<unsigned>(entry > scalars_.token_count);
    }
    if (wrong != 0) {
        corrupt("the index names a token that does not exist");
    }
    for (std::size_t i = 0; i < external.size(); ++i) {
        if (external[i] >= scalars_.token_count && (i >= 256 || external[i] != kNoToken)) {
            corrupt("an internal id belongs to no token");
        }
    }
    const bool has_bytes = scalars_.first_byte_id != 0;
    if ((has_bytes && std::size_t{scalars_.first_byte_id} + 256 > external.size()) ||
        (scalars_.unk_id >= scalars_.token_count && scalars_.unk_id != kNoToken)) {
        corrupt("the id of the unknown token does not exist");
    }
    for (const Seed8& seed : seeds8) {
        wrong |= is_lost(seed.value, seed_ids.size());
    }
    for (const Seed16& seed : seeds16) {
        wrong |= is_lost(seed.value, seed_ids.size());
    }
    if (wrong != 0) {
        corrupt("a seed refers to ids that do not exist");
    }
}

Bytes VocabView::token_bytes(TokenId id) const noexcept {
    return bytes_.subspan(offsets_[id], offsets_[id + 1] - offsets_[id]);
}

Bytes VocabView::decode_bytes(TokenId id) const noexcept {
    return decode_.subspan(decode_offsets_[id], decode_offsets_[id + 1] - decode_offsets_[id]);
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
    const std::uint64_t h = hash_bytes(word) >> 50;  // 14 bits: 16384 filter bits
    return (unreachable_[h >> 6] >> (h & 63) & 1) != 0;
}

}  // namespace tokenmill::vocab
