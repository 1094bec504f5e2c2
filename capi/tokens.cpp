// tokens: how a vocabulary writes its tokens <-> ids.
#include <string>
#include <string_view>

#include "decode/decode.h"
#include "errors.h"
#include "handle.h"

using namespace tokenmill;
using namespace tokenmill::capi;

namespace {

[[noreturn]] void refuse_id(TokenId id) {
    throw CallError(TOKENMILL_UNKNOWN_ID, "no token has the id " + std::to_string(id));
}

std::string_view entry_of(const tokenmill_tokenizer& tokenizer, TokenId id) {
    const vocab::VocabView& vocab = tokenizer.model.vocab();
    const Bytes bytes = id < vocab.token_count() ? vocab.decode_bytes(id) : Bytes{};
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TokenId find_bytes_of(const tokenmill_tokenizer& tokenizer, std::string_view bytes) {
    if (bytes.empty()) {
        return vocab::VocabView::kNoToken;
    }
    return tokenizer.model.vocab().find(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// An entry that the alphabet cannot write is held as its own UTF-8 and found by no bytes.
std::string name_in_alphabet(const tokenmill_tokenizer& tokenizer, TokenId id) {
    const std::string_view bytes = entry_of(tokenizer, id);
    if (find_bytes_of(tokenizer, bytes) == id) {
        return decode::spelled_in_alphabet(bytes);
    }
    return decode::as_text(bytes);
}

// Entries that the alphabet cannot write; there are few, and few ask.
TokenId find_strange(const tokenmill_tokenizer& tokenizer, std::string_view token) {
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
        if (entry_of(tokenizer, id) == token && name_in_alphabet(tokenizer, id) == token) {
            return id;
        }
    }
    return vocab::VocabView::kNoToken;
}

TokenId find_token(const tokenmill_tokenizer& tokenizer, const std::string& token) {
    const auto added = tokenizer.meta.added.find(token);
    if (added != tokenizer.meta.added.end()) {
        return added->second;
    }
    switch (tokenizer.meta.spelling) {
        case Spelling::Texts: {
            const auto& ids = tokenizer.text_ids();
            const auto found = ids.find(token);
            return found == ids.end() ? vocab::VocabView::kNoToken : found->second;
        }
        case Spelling::Bytes:
            return find_bytes_of(tokenizer, token);
        case Spelling::Alphabet:
            break;
    }
    std::string bytes;
    return decode::read_alphabet(token, bytes) ? find_bytes_of(tokenizer, bytes)
                                               : find_strange(tokenizer, token);
}

std::string name_of(const tokenmill_tokenizer& tokenizer, TokenId id) {
    const auto content = tokenizer.meta.contents.find(id);
    if (content != tokenizer.meta.contents.end()) {
        return content->second;
    }
    const std::string_view entry = entry_of(tokenizer, id);
    if (id >= tokenizer.vocab_size() || entry.empty()) {
        refuse_id(id);
    }
    switch (tokenizer.meta.spelling) {
        case Spelling::Texts:
            return std::string(entry);
        case Spelling::Alphabet:
            return name_in_alphabet(tokenizer, id);
        case Spelling::Bytes:
            break;
    }
    return decode::as_text(entry);
}

}  // namespace

tokenmill_status tokenmill_token_to_id(const tokenmill_tokenizer* tokenizer, const char* token,
                                       size_t size, uint32_t* id) {
    return guarded([&] {
        require(id, "id");
        *id = 0;
        require(tokenizer, "tokenizer");
        require_if(size, token, "token");
        const std::string name(token == nullptr ? "" : token, size);
        const TokenId found = find_token(*tokenizer, name);
        if (found == vocab::VocabView::kNoToken) {
            throw CallError(TOKENMILL_UNKNOWN_TOKEN, "no token is called \"" + name + "\"");
        }
        *id = found;
    });
}

tokenmill_status tokenmill_id_to_token(const tokenmill_tokenizer* tokenizer, uint32_t id,
                                       tokenmill_bytes* out) {
    return guarded([&] {
        require(out, "out");
        *out = {nullptr, 0};
        require(tokenizer, "tokenizer");
        give(name_of(*tokenizer, id), *out);
    });
}

tokenmill_status tokenmill_id_to_bytes(const tokenmill_tokenizer* tokenizer, uint32_t id,
                                       tokenmill_bytes* out) {
    return guarded([&] {
        require(out, "out");
        *out = {nullptr, 0};
        require(tokenizer, "tokenizer");
        give(tokenizer->decoder().bytes_of(id), *out);
    });
}
