// vocab: tokens and merges -> the tables an encoder and a decoder read. Immutable once built.
// Compiling derives every token from its own bytes once (0.1 to 0.5 s for 200,000 tokens); viewing
// a compiled vocabulary costs nothing. It never guesses: what contradicts itself is an Error.
#pragma once

#include <string>
#include <vector>

#include "base/adjacency.h"
#include "base/blob.h"
#include "base/types.h"
#include "vocab/junction.h"
#include "vocab/pairs.h"
#include "vocab/sure_pair.h"
#include "vocab/trie.h"
#include "vocab/value.h"

namespace tokenmill::vocab {

// Section numbers of this room in a compiled model.
enum VocabSection : std::uint32_t {
    kScalars = 100,
    kTokenBytes,
    kTokenOffsets,
    kTokenFlags,
    kTokenIndex,
    kDecodeBytes,
    kDecodeOffsets,
    kExternalIds,
    kPairSlots,
    kBytePairs,
    kUnreachableFilter,
    kJunctionFilter,
    kJunctionFlags,
    kJunctionParts,
    kSeeds8,
    kSeeds16,
    kSeedIds,
    kInternalIds,
    kTrieCells,
    kScores,
    kTiedRanks,
    kTiedPairs,
    kCharSides,
    kDoubt,
    kSurePairTable,
    kNodeTokens,
    kNodeScores,
    kCharNodes,
    kCharSymbols,
    kCharValues,
};

// ModelKind::Characters: how a token holds a character of three bytes. Without any of these bits it
// has the same ids next to anything.
enum CharSide : std::uint8_t {
    kBeforeChar3 = 1,
    kAfterChar3 = 2,
    kBeforeOther = 4,  // a character of another size
    kAfterOther = 8,
};

// How words become ids. Merging starts from bytes or from characters; the others look words up.
enum class ModelKind : std::uint32_t {
    Bytes = 0,
    Characters = 1,
    WordPiece = 2,
    Unigram = 3,
    WordLevel = 4,
};

// Ends the text of tokens that end a word, in vocabularies that have them: no text holds this byte.
constexpr std::uint8_t kWordEnd = 0xFF;

// A vocabulary as the tokenizer defines it, in arrays by external id. Borrows everything.
struct VocabInput {
    Bytes token_bytes;
    std::span<const std::uint64_t> token_offsets;  // n + 1
    std::span<const std::uint8_t> matchable;       // n; 0: no text can produce this entry
    Bytes decode_bytes;
    std::span<const std::uint64_t> decode_offsets;  // n + 1
    std::span<const std::uint32_t> merges;          // left, right, left, right, ... in rank order
    std::span<const std::uint32_t> ranks;           // n, instead of merges: rank of each token
    bool ignore_merges = false;                     // a word that is a token is that token
    ModelKind kind = ModelKind::Bytes;
    std::span<const std::uint32_t> byte_ids;     // 256, or none: what unknown characters become
    std::uint32_t unk_id = 0xFFFFFFFFU;          // and what they become without byte_ids
    bool fuse_unk = false;                       // neighbouring unknown characters are one
    Bytes prefix;                                // WordPiece: what begins a token inside a word
    std::uint32_t max_characters = 0xFFFFFFFFU;  // WordPiece: a longer word is unknown
    std::span<const double> scores;              // Unigram: n
    bool drop_white = false;                     // WordPiece, WordLevel: white space has no ids
    bool whole_text = false;                     // Unigram: float sums over a whole text
    bool has_ends = false;  // merging: kWordEnd follows the last symbol of a word
};

struct Scalars {
    std::uint32_t token_count;
    std::uint32_t internal_count;
    std::uint32_t ignore_merges;
    std::uint32_t unreachable_count;
    ModelKind kind;
    std::uint32_t unk_id;
    std::uint32_t fuse_unk;
    std::uint32_t max_characters;
    std::uint32_t drop_white;
    std::uint32_t first_byte_id;  // internal id of byte 0 among what unknown characters become
    std::uint32_t first_merged;   // internal ids from here on are made by merges
    std::uint32_t whole_text;     // Unigram: no word is looked up alone
    std::uint32_t has_ends;
    double unknown_score;  // Unigram: of a character that no token covers
};

// A word that is looked up may be cut where no token reaches over, but not after this many bytes;
// and no piece that is answered alone has more.
constexpr std::size_t kLongestCutWord = std::size_t{1} << 14;

// A table answer known in advance: word bytes (zero-padded, no NUL) -> packed value.
struct Seed8 {
    std::uint64_t key;
    std::uint64_t value;
};
struct Seed16 {
    std::uint64_t key[2];
    std::uint64_t value;
};

constexpr std::size_t kBasicCodes = 0x10000;  // code points of up to three bytes

// What a walk through the trie reads, for kinds that look words up. All of it is in the file: a
// copy in large pages is not faster (log 2026-11-16).
struct NodeTables {
    SmallTrie trie{};
    std::uint32_t size = 0;                 // nodes
    const std::uint32_t* tokens = nullptr;  // by node: id + 1 of the token that ends there, or 0
    const double* scores = nullptr;         // Unigram, by node: of tokens; the root: of an unknown
    const std::uint32_t* char_nodes = nullptr;  // Unigram: by basic code point, or kNoNode
};

// Tokens that text can produce, back to back by id; the others have no bytes here.
struct TokenTable {
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint8_t> is_reachable;  // by id: 1 if merging its bytes makes the token
};

class VocabView {
public:
    VocabView() = default;
    explicit VocabView(const BlobReader& blob);

    [[nodiscard]] std::uint32_t token_count() const noexcept { return scalars_.token_count; }
    [[nodiscard]] bool ignore_merges() const noexcept { return scalars_.ignore_merges != 0; }
    [[nodiscard]] ModelKind kind() const noexcept { return scalars_.kind; }
    [[nodiscard]] bool has_ends() const noexcept { return scalars_.has_ends != 0; }
    [[nodiscard]] bool is_merged() const noexcept { return kind() <= ModelKind::Characters; }
    // May a word be cut between characters of three bytes where no token reaches over?
    [[nodiscard]] bool can_cut() const noexcept { return is_merged() || can_cut_wide_; }
    [[nodiscard]] const Scalars& scalars() const noexcept { return scalars_; }
    [[nodiscard]] TokenId unk_id() const noexcept { return scalars_.unk_id; }
    [[nodiscard]] Bytes token_bytes(TokenId id) const noexcept;
    // The same without kWordEnd.
    [[nodiscard]] Bytes token_text(TokenId id) const noexcept {
        const Bytes bytes = token_bytes(id);
        const bool ends = has_ends() && !bytes.empty() && bytes.back() == kWordEnd;
        return bytes.first(bytes.size() - static_cast<std::size_t>(ends));
    }
    [[nodiscard]] Bytes decode_bytes(TokenId id) const noexcept;
    // The id of a token that text can produce, or kNoToken.
    [[nodiscard]] TokenId find(Bytes token) const noexcept;
    // Only under ignore_merges: may `word` be a token that merging cannot build?
    [[nodiscard]] bool maybe_unreachable(Bytes word) const noexcept;
    [[nodiscard]] bool is_reachable(TokenId id) const noexcept { return (flags_[id] & 2) != 0; }

    // A copy of all tokens, for a device that has no such view.
    [[nodiscard]] TokenTable list_tokens() const;

    // Does the vocabulary lack tokens for bytes that text can hold? Such bytes vanish from words.
    [[nodiscard]] bool drops_bytes() const noexcept { return drops_bytes_; }
    [[nodiscard]] bool is_dropped(std::uint8_t byte) const noexcept {
        return external[byte] == kNoToken;
    }

    // May merging `word` make one of the tokens that share a rank? Then the internal ids do not
    // tell which merge comes first: of equal `tied_ranks` the leftmost does.
    [[nodiscard]] bool maybe_tied(Bytes word) const noexcept {
        return !tied_ranks.empty() && has_tied_pair(word);
    }

    [[nodiscard]] const NodeTables& nodes() const noexcept { return nodes_; }

    static constexpr TokenId kNoToken = 0xFFFFFFFFU;

    PairTable pairs{};
    std::span<const SurePair> sure_pairs;  // kinds that merge: by two bytes
    JunctionFilter junctions{};
    std::span<const std::uint32_t> external;  // internal id -> id
    std::span<const std::uint32_t> internal;  // Characters, ends: id -> internal id or kNoMerge
    // ModelKind::Characters, by basic code point of two or three bytes: what merging starts from,
    // or kNoMerge, and the value of a word that is this character alone. WordPiece: the latter, of
    // characters of three bytes.
    std::span<const std::uint32_t> char_symbols;
    std::span<const std::uint64_t> char_values;
    std::span<const std::uint8_t> char_sides;  // CharSide bits by basic code point; may be empty
    // Unigram: two ways through a piece of a word whose scores differ by less than this for each of
    // its bytes may swap their order when the word has more text before it. 0: scores add up
    // exactly, so that their order never changes.
    double doubt = 0;
    std::vector<float> text_scores;  // Unigram: by id, for sums over a whole text
    // The same: a bit for each two bytes that some token joins. Between others a text falls into
    // words.
    std::vector<std::uint64_t> text_joints;
    std::span<const std::uint32_t> tied_ranks;  // by internal id; none where all ranks differ
    std::span<const Seed8> seeds8;              // sorted by hash, so that filling walks forward
    std::span<const Seed16> seeds16;
    std::span<const std::uint32_t> seed_ids;  // ids that do not fit into their values

private:
    void check_numbers() const;
    void view_merges(const BlobReader& blob);
    void view_words(const BlobReader& blob);
    void view_ties(const BlobReader& blob);
    [[nodiscard]] bool has_tied_pair(Bytes word) const noexcept;
    void view_characters(const BlobReader& blob);
    void view_char_values(std::span<const std::uint64_t> values);
    void view_scores(const BlobReader& blob);
    void list_joints();

    Scalars scalars_{};
    bool drops_bytes_ = false;
    bool can_cut_wide_ = false;
    NodeTables nodes_;
    Bytes bytes_;
    Bytes decode_;
    std::span<const std::uint64_t> offsets_;
    std::span<const std::uint64_t> decode_offsets_;
    std::span<const std::uint8_t> flags_;
    std::span<const std::uint32_t> index_;
    std::span<const std::uint64_t> unreachable_;
    std::span<const std::uint64_t> tied_pairs_;  // a bit for the first two bytes of a tied token
};

// Throws Error(BadSpec) when the input contradicts itself (a merge whose result is not a token, ids
// beyond 2^20). Returns what may be cut: when there is no split, or inside words
// (ModelKind::Unigram).
LearntCuts compile_vocab(const VocabInput& input, BlobWriter& out);

[[nodiscard]] std::uint64_t hash_bytes(Bytes bytes) noexcept;

}  // namespace tokenmill::vocab
