// handle: what a tokenmill_tokenizer is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/buffer.h"
#include "base/mapped_file.h"
#include "base/threads.h"
#include "decode/decode.h"
#include "meta.h"
#include "pipeline/pipeline.h"
#include "tokenmill.h"

// The members are in the order of what needs what. Immutable but for `ids_by_text`.
struct tokenmill_tokenizer {
    // A file of the system, bytes of our own, or bytes of the caller.
    tokenmill_tokenizer(std::unique_ptr<tokenmill::MappedFile> mapped, tokenmill::PageBuffer owned,
                        tokenmill::Bytes payload, const tokenmill::pipeline::Tables& tables);

    std::unique_ptr<tokenmill::MappedFile> file;
    tokenmill::PageBuffer memory;
    tokenmill::pipeline::Model model;
    tokenmill::capi::ModelMeta meta;
    std::optional<tokenmill::decode::Decoder> native_decoder;

    [[nodiscard]] std::size_t vocab_size() const noexcept {
        return std::size_t{model.max_id()} + 1;
    }
    // Throws UNSUPPORTED where decoding needs the reference library.
    [[nodiscard]] const tokenmill::decode::Decoder& decoder() const;
    // Ids by what the table holds, for vocabularies of texts; made when first asked for.
    [[nodiscard]] const std::unordered_map<std::string, tokenmill::TokenId>& text_ids() const;

private:
    mutable tokenmill::Mutex text_ids_mutex_;
    mutable std::unique_ptr<std::unordered_map<std::string, tokenmill::TokenId>> text_ids_;
};

namespace tokenmill::capi {

// Memory of malloc with a zero at its end, for the caller to free.
void give(const std::string& bytes, tokenmill_bytes& out);

}  // namespace tokenmill::capi
