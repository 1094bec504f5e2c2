// encode: texts of the caller -> ids, counts and offsets.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "errors.h"
#include "handle.h"
#include "options.h"
#include "utf16.h"

using namespace tokenmill;
using namespace tokenmill::capi;

struct tokenmill_encoding {
    pipeline::Encoded encoded;
    bool has_offsets = false;
};

namespace {

using pipeline::Text;

struct EncodeCall {
    pipeline::Options options;
    int offsets = TOKENMILL_OFFSETS_NONE;
};

pipeline::SpanUnit unit_of(int offsets) {
    switch (offsets) {
        case TOKENMILL_OFFSETS_NONE:
            return pipeline::SpanUnit::None;
        case TOKENMILL_OFFSETS_BYTES:
            return pipeline::SpanUnit::Bytes;
        default:  // those of UTF-16 are made of these
            return pipeline::SpanUnit::Characters;
    }
}

unsigned threads_of(int threads) {
    return threads == 0 ? hardware_threads() : static_cast<unsigned>(threads);
}

EncodeCall read_options(const tokenmill_encode_options* given) {
    const tokenmill_encode_options read =
        options_of(given, tokenmill_encode_options TOKENMILL_ENCODE_OPTIONS_INIT);
    EncodeCall call;
    call.options.add_special_tokens =
        checked("add_special_tokens", read.add_special_tokens, 1) != 0;
    call.options.special = static_cast<pipeline::SpecialMode>(
        checked("special_in_text", read.special_in_text, TOKENMILL_SPECIAL_RAISE));
    call.options.replace_invalid =
        checked("invalid_utf8", read.invalid_utf8, TOKENMILL_UTF8_REPLACE) != 0;
    call.offsets = checked("offsets", read.offsets, TOKENMILL_OFFSETS_UTF16);
    call.options.spans = unit_of(call.offsets);
    call.options.threads = threads_of(checked("threads", read.threads, 4096));
    return call;
}

Text text_of(const char* text, std::size_t size) {
    require_if(size, text, "text");
    return {text == nullptr ? "" : text, size, Text::Encoding::Utf8};
}

// A single text has no number in an error.
template <typename Work>
auto without_number(const Work& work) {
    try {
        return work();
    } catch (const Error& error) {
        throw Error(error.code, error.what(), error.offset);
    }
}

tokenmill_encoding* encode_all(const tokenmill_tokenizer& tokenizer, std::span<const Text> texts,
                               const EncodeCall& call) {
    auto made = std::make_unique<tokenmill_encoding>();
    made->encoded = tokenizer.model.encode_batch(texts, call.options, {});
    made->has_offsets = call.offsets != TOKENMILL_OFFSETS_NONE;
    if (call.offsets == TOKENMILL_OFFSETS_UTF16) {
        auto* const spans = reinterpret_cast<std::uint32_t*>(made->encoded.memory.spans.data());
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const auto begin = static_cast<std::size_t>(made->encoded.offsets[i]);
            const auto end = static_cast<std::size_t>(made->encoded.offsets[i + 1]);
            to_utf16({static_cast<const std::uint8_t*>(texts[i].data), texts[i].size},
                     {spans + 2 * begin, 2 * (end - begin)});
        }
    }
    return made.release();
}

}  // namespace

tokenmill_status tokenmill_encode(const tokenmill_tokenizer* tokenizer, const char* text,
                                  size_t size, const tokenmill_encode_options* options,
                                  tokenmill_encoding** out) {
    return guarded([&] {
        require(out, "out");
        *out = nullptr;
        require(tokenizer, "tokenizer");
        EncodeCall call = read_options(options);
        call.options.threads = 1;
        const Text one = text_of(text, size);
        *out = without_number([&] { return encode_all(*tokenizer, {&one, 1}, call); });
    });
}

tokenmill_status tokenmill_encode_batch(const tokenmill_tokenizer* tokenizer,
                                        const tokenmill_text* texts, size_t count,
                                        const tokenmill_encode_options* options,
                                        tokenmill_encoding** out) {
    return guarded([&] {
        require(out, "out");
        *out = nullptr;
        require(tokenizer, "tokenizer");
        require_if(count, texts, "texts");
        const EncodeCall call = read_options(options);
        std::vector<Text> all;
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(text_of(texts[i].data, texts[i].size));
        }
        *out = encode_all(*tokenizer, all, call);
    });
}

tokenmill_status tokenmill_encode_into(const tokenmill_tokenizer* tokenizer, const char* text,
                                       size_t size, const tokenmill_encode_options* options,
                                       uint32_t* ids, size_t capacity, size_t* count) {
    return guarded([&] {
        require(count, "count");
        *count = 0;
        require(tokenizer, "tokenizer");
        require_if(capacity, ids, "ids");
        EncodeCall call = read_options(options);
        if (call.offsets != TOKENMILL_OFFSETS_NONE) {
            throw CallError(TOKENMILL_BAD_ARGUMENT,
                            "offsets: expected 0 here; hint: call tokenmill_encode");
        }
        pipeline::Model::Lease lease(tokenizer->model);
        const auto made = lease.encode(text_of(text, size), call.options);
        *count = made.size();
        if (made.size() > capacity) {
            throw Error(ErrorCode::OutputTooSmall, std::to_string(made.size()));
        }
        std::copy(made.begin(), made.end(), ids);
    });
}

tokenmill_status tokenmill_count(const tokenmill_tokenizer* tokenizer, const char* text,
                                 size_t size, const tokenmill_encode_options* options, size_t limit,
                                 size_t* count) {
    return guarded([&] {
        require(count, "count");
        *count = 0;
        require(tokenizer, "tokenizer");
        EncodeCall call = read_options(options);
        call.options.spans = pipeline::SpanUnit::None;
        const std::size_t most = std::min(limit, std::size_t{SIZE_MAX} - 1);
        *count = tokenizer->model.count(text_of(text, size), call.options, most);
    });
}

const uint32_t* tokenmill_encoding_ids(const tokenmill_encoding* encoding, size_t* count) {
    if (count != nullptr) {
        *count = encoding == nullptr ? 0 : encoding->encoded.count;
    }
    return encoding == nullptr
               ? nullptr
               : reinterpret_cast<const uint32_t*>(encoding->encoded.memory.ids.data());
}

const int64_t* tokenmill_encoding_rows(const tokenmill_encoding* encoding, size_t* count) {
    if (count != nullptr) {
        *count = encoding == nullptr ? 0 : encoding->encoded.documents + 1;
    }
    return encoding == nullptr ? nullptr : encoding->encoded.offsets.get();
}

const uint32_t* tokenmill_encoding_offsets(const tokenmill_encoding* encoding, size_t* count) {
    const bool has_any = encoding != nullptr && encoding->has_offsets;
    if (count != nullptr) {
        *count = has_any ? 2 * encoding->encoded.count : 0;
    }
    return has_any ? reinterpret_cast<const uint32_t*>(encoding->encoded.memory.spans.data())
                   : nullptr;
}

void tokenmill_encoding_free(tokenmill_encoding* encoding) {
    delete encoding;
}
