// decode: ids of the caller -> text, at once or as a stream.
#include "decode/decode.h"

#include "errors.h"
#include "handle.h"
#include "options.h"

using namespace tokenmill;
using namespace tokenmill::capi;

struct tokenmill_stream {
    const tokenmill_tokenizer& tokenizer;
    decode::DecodeStream stream;
    std::string text;
};

namespace {

decode::DecodeOptions read_options(const tokenmill_decode_options* given) {
    const tokenmill_decode_options read =
        options_of(given, tokenmill_decode_options TOKENMILL_DECODE_OPTIONS_INIT);
    decode::DecodeOptions options;
    options.skip_special = checked("skip_special_tokens", read.skip_special_tokens, 1) != 0;
    options.clean_up = checked("clean_up", read.clean_up, 1) != 0;
    options.as =
        checked("as_bytes", read.as_bytes, 1) != 0 ? decode::AsWhat::Bytes : decode::AsWhat::Text;
    if (options.clean_up && options.as == decode::AsWhat::Bytes) {
        throw CallError(TOKENMILL_BAD_ARGUMENT, "clean_up: expected 0 with as_bytes, got 1");
    }
    return options;
}

void hand_out(const tokenmill_stream& stream, const char** text, size_t* size) {
    *text = stream.text.c_str();
    *size = stream.text.size();
}

}  // namespace

tokenmill_status tokenmill_decode(const tokenmill_tokenizer* tokenizer, const uint32_t* ids,
                                  size_t count, const tokenmill_decode_options* options,
                                  tokenmill_bytes* out) {
    return guarded([&] {
        require(out, "out");
        *out = {nullptr, 0};
        require(tokenizer, "tokenizer");
        require_if(count, ids, "ids");
        std::string text;
        tokenizer->decoder().decode({ids, count}, read_options(options), text);
        give(text, *out);
    });
}

tokenmill_status tokenmill_stream_new(const tokenmill_tokenizer* tokenizer,
                                      const tokenmill_decode_options* options,
                                      tokenmill_stream** out) {
    return guarded([&] {
        require(out, "out");
        *out = nullptr;
        require(tokenizer, "tokenizer");
        const decode::DecodeOptions read = read_options(options);
        if (read.as == decode::AsWhat::Bytes) {
            throw CallError(TOKENMILL_BAD_ARGUMENT, "as_bytes: expected 0 for a stream, got 1");
        }
        *out = new tokenmill_stream{
            *tokenizer, {tokenizer->decoder(), read.skip_special, read.clean_up}, {}};
    });
}

// Either all ids are taken, or none.
tokenmill_status tokenmill_stream_push(tokenmill_stream* stream, const uint32_t* ids, size_t count,
                                       const char** text, size_t* size) {
    return guarded([&] {
        require(text, "text");
        require(size, "size");
        *text = "";
        *size = 0;
        require(stream, "stream");
        require_if(count, ids, "ids");
        for (std::size_t i = 0; i < count; ++i) {
            if (ids[i] >= stream->tokenizer.vocab_size()) {
                throw Error(ErrorCode::IdOutOfRange, std::to_string(ids[i]), i);
            }
        }
        stream->text.clear();
        for (std::size_t i = 0; i < count; ++i) {
            stream->stream.push(ids[i], stream->text);
        }
        hand_out(*stream, text, size);
    });
}

tokenmill_status tokenmill_stream_finish(tokenmill_stream* stream, const char** text,
                                         size_t* size) {
    return guarded([&] {
        require(text, "text");
        require(size, "size");
        *text = "";
        *size = 0;
        require(stream, "stream");
        stream->text.clear();
        stream->stream.finish(stream->text);
        hand_out(*stream, text, size);
    });
}

void tokenmill_stream_free(tokenmill_stream* stream) {
    delete stream;
}
