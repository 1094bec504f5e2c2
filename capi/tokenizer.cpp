// tokenizer: loading, freeing, and what is known about a tokenizer.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/blob.h"
#include "errors.h"
#include "handle.h"
#include "model_file.h"
#include "options.h"

using namespace tokenmill;
using namespace tokenmill::capi;

tokenmill_tokenizer::tokenmill_tokenizer(std::unique_ptr<MappedFile> mapped, PageBuffer owned,
                                         Bytes payload, const pipeline::Tables& tables)
    : file(std::move(mapped)),
      memory(std::move(owned)),
      model(payload, tables),
      meta(read_meta(model.meta())) {
    if (meta.only_library.empty()) {
        native_decoder.emplace(model.vocab(), vocab_size(), std::move(meta.decoding));
    }
}

const decode::Decoder& tokenmill_tokenizer::decoder() const {
    if (!native_decoder) {
        throw CallError(TOKENMILL_UNSUPPORTED,
                        "this tokenizer decodes through its reference library (" +
                            meta.only_library + "); hint: decode with the Python package");
    }
    return *native_decoder;
}

const std::unordered_map<std::string, TokenId>& tokenmill_tokenizer::text_ids() const {
    const Guard guard(text_ids_mutex_);
    if (text_ids_ == nullptr) {
        auto ids = std::make_unique<std::unordered_map<std::string, TokenId>>();
        for (TokenId id = 0; id < model.vocab().token_count(); ++id) {
            const Bytes text = model.vocab().decode_bytes(id);
            if (!text.empty()) {
                ids->insert_or_assign(std::string(text.begin(), text.end()), id);
            }
        }
        text_ids_ = std::move(ids);
    }
    return *text_ids_;
}

namespace tokenmill::capi {

namespace {

// The sizes of the Python package's tables="usual", "small" and "tiny".
pipeline::Tables tables_of(int size) {
    pipeline::Tables tables;
    const unsigned by = size == TOKENMILL_TABLES_TINY ? 5 : size == TOKENMILL_TABLES_SMALL ? 2 : 0;
    if (size == TOKENMILL_TABLES_TINY) {  // those that a worker starts with, for ever
        tables.small_until = std::numeric_limits<std::size_t>::max();
    }
    encode::TableBits& bits = tables.bits;
    bits = {bits.words8 - by,
            bits.words16 - by,
            bits.words32 - by,
            bits.long_words - by,
            std::max(15U, bits.ring - by),
            bits.store - by};
    return tables;
}

bool is_aligned(const void* data) noexcept {
    return reinterpret_cast<std::uintptr_t>(data) % kBlobAlign == 0;
}

pipeline::Tables read_options(const tokenmill_load_options* given, bool& is_borrowed) {
    const tokenmill_load_options options =
        options_of(given, tokenmill_load_options TOKENMILL_LOAD_OPTIONS_INIT);
    is_borrowed = checked("borrow_memory", options.borrow_memory, 1) == 1;
    return tables_of(checked("tables", options.tables, TOKENMILL_TABLES_TINY));
}

std::unique_ptr<MappedFile> open_file(const char* path) {
    try {
        return std::make_unique<MappedFile>(path);
    } catch (const std::system_error& error) {
        throw CallError(TOKENMILL_NO_SUCH_FILE,
                        std::string(path) + ": cannot read the file: " + error.code().message());
    }
}

}  // namespace

void give(const std::string& bytes, tokenmill_bytes& out) {
    char* const data = static_cast<char*>(std::malloc(bytes.size() + 1));
    if (data == nullptr) {
        throw std::bad_alloc();
    }
    std::memcpy(data, bytes.c_str(), bytes.size() + 1);
    out = {data, bytes.size()};
}

}  // namespace tokenmill::capi

tokenmill_status tokenmill_load(const char* path, const tokenmill_load_options* options,
                                tokenmill_tokenizer** out) {
    return guarded([&] {
        require(out, "out");
        *out = nullptr;
        require(path, "path");
        bool is_borrowed = false;
        const pipeline::Tables tables = read_options(options, is_borrowed);
        std::unique_ptr<MappedFile> file = open_file(path);
        const Bytes payload = payload_of(file->bytes(), path);
        *out = new tokenmill_tokenizer(std::move(file), {}, payload, tables);
    });
}

tokenmill_status tokenmill_load_memory(const void* data, size_t size,
                                       const tokenmill_load_options* options,
                                       tokenmill_tokenizer** out) {
    return guarded([&] {
        require(out, "out");
        *out = nullptr;
        require(data, "data");
        bool is_borrowed = false;
        const pipeline::Tables tables = read_options(options, is_borrowed);
        if (is_borrowed && !is_aligned(data)) {
            throw CallError(TOKENMILL_BAD_ARGUMENT,
                            "data: expected an address that is a multiple of 64; hint: set "
                            "borrow_memory to 0");
        }
        Bytes payload = payload_of({static_cast<const std::uint8_t*>(data), size}, "memory");
        PageBuffer owned;
        if (!is_borrowed) {
            owned = PageBuffer(payload.size());
            std::memcpy(owned.data(), payload.data(), payload.size());
            payload = {owned.data(), payload.size()};
        }
        *out = new tokenmill_tokenizer(nullptr, std::move(owned), payload, tables);
    });
}

void tokenmill_free(tokenmill_tokenizer* tokenizer) {
    delete tokenizer;
}

void tokenmill_bytes_free(tokenmill_bytes* bytes) {
    if (bytes != nullptr) {
        std::free(bytes->data);
        *bytes = {nullptr, 0};
    }
}

size_t tokenmill_vocab_size(const tokenmill_tokenizer* tokenizer) {
    return tokenizer == nullptr ? 0 : tokenizer->vocab_size();
}

const uint32_t* tokenmill_special_ids(const tokenmill_tokenizer* tokenizer, size_t* count) {
    if (count != nullptr) {
        *count = tokenizer == nullptr ? 0 : tokenizer->meta.special_ids.size();
    }
    return tokenizer == nullptr ? nullptr : tokenizer->meta.special_ids.data();
}

const char* tokenmill_describe(const tokenmill_tokenizer* tokenizer, size_t* size) {
    if (size != nullptr) {
        *size = tokenizer == nullptr ? 0 : tokenizer->meta.json.size();
    }
    return tokenizer == nullptr ? "" : tokenizer->meta.json.c_str();
}

const char* tokenmill_target(const tokenmill_tokenizer* tokenizer) {
    return tokenizer == nullptr ? "" : simd::name_of(tokenizer->model.target());
}
