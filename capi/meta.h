// meta: the meta data of a compiled model -> what decoding and the vocabulary need to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/types.h"
#include "decode/decode.h"

namespace tokenmill::capi {

// How a vocabulary writes its tokens.
enum class Spelling : std::uint8_t {
    Bytes,     // as they are
    Alphabet,  // each byte as a printable character
    Texts,     // the table of the model holds them
};

struct ModelMeta {
    std::string json;  // as it is in the model, without the added tokens
    decode::DecodeRules decoding;
    std::string only_library;  // why decoding needs the reference library; empty if it does not
    std::vector<TokenId> special_ids;  // in the order of the tokenizer
    Spelling spelling = Spelling::Bytes;
    std::unordered_map<std::string, TokenId> added;  // by content
    std::unordered_map<TokenId, std::string> contents;
};

// Throws Error(CorruptModel).
[[nodiscard]] ModelMeta read_meta(Bytes meta);

}  // namespace tokenmill::capi
