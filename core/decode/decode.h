// decode: token ids -> bytes or text. Tables of bytes need one look-up for each id; vocabularies of
// texts go through the steps that their tokenizer has. An unknown id is an error, never a gap.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/types.h"
#include "vocab/vocab.h"

namespace tokenmill::decode {

// Appends the bytes of `ids` to `out`. Throws Error(IdOutOfRange) with the position of the id.
//   [15496, 995] -> "Hello world"
void append_bytes(const vocab::VocabView& vocab, std::span<const TokenId> ids, std::string& out);

// The byte-level alphabet, which writes each byte as a printable character. Reading tells whether
// every character is in it.
[[nodiscard]] std::string spelled_in_alphabet(std::string_view bytes);
[[nodiscard]] bool read_alphabet(std::string_view token, std::string& bytes);
// Well-formed text: U+FFFD for what is not.
[[nodiscard]] std::string as_text(std::string_view bytes);

// One step from the texts of tokens to the decoded text.
enum class DecodeStepKind : std::uint8_t {
    ByteLevel,     // stand-in characters to bytes
    ByteFallback,  // "<0x41>" to the byte
    Fuse,          // all texts to one
    Strip,         // the character `a` off each text, at most `left` in front, `right` at the end
    Replace,       // `a` by `b`
    Metaspace,     // `a` to blanks, the first one dropped if `flag`
    WordPiece,     // `a` is the prefix that continues a word; `flag`: clean up
    WordEnd,       // `a` is the suffix that ends a word
    Ctc,           // `a` is the pad token, `b` the word delimiter; `flag`: clean up
};
struct DecodeStep {
    DecodeStepKind kind;
    std::string a;
    std::string b;
    std::size_t left = 0;  // characters
    std::size_t right = 0;
    bool flag = false;
};

// Pieces of a model of sentences. A run of ids out of `byte_ids` is its bytes, with U+FFFD for each
// byte that is not part of a well-formed character. Of the others, `control_ids` write nothing,
// `unk_id` writes `unk_surface`, and a piece writes itself with blanks for U+2581.
struct PieceRules {
    enum class Strip : std::uint8_t { None, First, All };  // of U+2581 while nothing is written
    std::vector<TokenId> control_ids;
    TokenId unk_id = 0;
    std::string unk_surface;
    std::vector<TokenId> byte_ids;  // 256, or none
    Strip strip = Strip::None;
};

// How a tokenizer decodes. Pieces come first, then texts with steps, then the table of bytes.
struct DecodeRules {
    bool on_texts = false;                         // the table holds texts, not bytes
    std::optional<std::vector<DecodeStep>> steps;  // of texts; none: a blank between tokens
    std::optional<PieceRules> pieces;
    std::vector<TokenId> special_ids;  // left out on request, where the table holds bytes
    std::unordered_set<std::string> special_texts;  // the same, where it holds texts
    std::vector<TokenId> empty_ids;                 // in rising order: a text of size 0, not a hole
};

enum class AsWhat : std::uint8_t {
    Text,   // well-formed: U+FFFD for what is not
    Bytes,  // as they are, where the last step joins bytes
};

struct DecodeOptions {
    bool skip_special = false;
    bool clean_up = false;  // the blanks before English punctuation and endings; of texts only
    AsWhat as = AsWhat::Text;
};

// Decodes by the rules of a tokenizer. Immutable: any number of threads may use it.
class Decoder {
public:
    // Borrows the vocabulary. Ids from `id_count` on are unknown.
    Decoder(const vocab::VocabView& vocab, std::size_t id_count, DecodeRules rules);
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    // Appends. Throws Error(IdOutOfRange).
    void decode(std::span<const TokenId> ids, const DecodeOptions& options, std::string& out) const;
    // What an id writes after others. Throws Error(IdOutOfRange) for a hole as well.
    [[nodiscard]] std::string bytes_of(TokenId id) const;
    [[nodiscard]] bool on_texts() const noexcept;

private:
    friend class DecodeStream;
    struct State;
    std::unique_ptr<State> state_;
};

// Ids as they come -> text, never half a character: all that it writes is what decode() returns for
// all ids. Text that the next id could still change is held back. Borrows the decoder.
class DecodeStream {
public:
    DecodeStream(const Decoder& decoder, bool skip_special, bool clean_up);
    ~DecodeStream();
    DecodeStream(const DecodeStream&) = delete;
    DecodeStream& operator=(const DecodeStream&) = delete;

    // Appends what became certain. Throws Error(IdOutOfRange), and is then as before.
    void push(TokenId id, std::string& out);
    // Appends the rest; the stream is as new afterwards.
    void finish(std::string& out);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tokenmill::decode
