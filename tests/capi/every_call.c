/* Makes every call of tokenmill.h, good and bad ones, for a run under sanitizers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tokenmill.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition,            \
                    tokenmill_error_message());                                   \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

static const char kText[] = "One caf\xC3\xA9, \xF0\x9F\x98\x80 and \xE4\xBD\xA0\xE5\xA5\xBD.";

static void encode_all_ways(const tokenmill_tokenizer *tokenizer) {
    tokenmill_encode_options options = TOKENMILL_ENCODE_OPTIONS_INIT;
    const size_t size = strlen(kText);
    tokenmill_text texts[3] = {{kText, 0}, {"", 0}, {"\xFF", 1}};
    uint32_t ids[64];
    size_t count = 0;
    texts[0].size = size;
    for (int32_t offsets = 0; offsets < 4; ++offsets) {
        tokenmill_encoding *encoding = NULL;
        options.offsets = offsets;
        CHECK(tokenmill_encode(tokenizer, kText, size, &options, &encoding) == TOKENMILL_OK);
        CHECK(tokenmill_encoding_ids(encoding, &count) != NULL && count > 0);
        CHECK((tokenmill_encoding_offsets(encoding, NULL) != NULL) == (offsets != 0));
        tokenmill_encoding_free(encoding);
        CHECK(tokenmill_encode_batch(tokenizer, texts, 3, &options, &encoding) ==
              TOKENMILL_INVALID_UTF8);
        CHECK(encoding == NULL);
        options.invalid_utf8 = TOKENMILL_UTF8_REPLACE;
        options.threads = 2;
        CHECK(tokenmill_encode_batch(tokenizer, texts, 3, &options, &encoding) == TOKENMILL_OK);
        CHECK(tokenmill_encoding_rows(encoding, &count) != NULL && count == 4);
        tokenmill_encoding_free(encoding);
        options.invalid_utf8 = TOKENMILL_UTF8_STRICT;
    }
    CHECK(tokenmill_encode_into(tokenizer, kText, size, NULL, ids, 64, &count) == TOKENMILL_OK);
    CHECK(tokenmill_encode_into(tokenizer, kText, size, NULL, ids, 1, &count) ==
          TOKENMILL_OUTPUT_TOO_SMALL);
    CHECK(tokenmill_count(tokenizer, kText, size, NULL, SIZE_MAX, &count) == TOKENMILL_OK);
}

static void decode_all_ways(const tokenmill_tokenizer *tokenizer) {
    uint32_t ids[64];
    size_t count = 0;
    size_t size = 0;
    const char *text = NULL;
    tokenmill_bytes bytes = {NULL, 0};
    tokenmill_stream *stream = NULL;
    const uint32_t unknown = 99999999;
    CHECK(tokenmill_encode_into(tokenizer, kText, strlen(kText), NULL, ids, 64, &count) ==
          TOKENMILL_OK);
    CHECK(tokenmill_decode(tokenizer, ids, count, NULL, &bytes) == TOKENMILL_OK);
    CHECK(bytes.size == strlen(kText) && strcmp(bytes.data, kText) == 0);
    tokenmill_bytes_free(&bytes);
    tokenmill_bytes_free(&bytes);
    CHECK(tokenmill_decode(tokenizer, &unknown, 1, NULL, &bytes) == TOKENMILL_UNKNOWN_ID);
    CHECK(tokenmill_stream_new(tokenizer, NULL, &stream) == TOKENMILL_OK);
    CHECK(tokenmill_stream_push(stream, ids, count - 1, &text, &size) == TOKENMILL_OK);
    CHECK(tokenmill_stream_push(stream, &unknown, 1, &text, &size) == TOKENMILL_UNKNOWN_ID);
    CHECK(tokenmill_stream_finish(stream, &text, &size) == TOKENMILL_OK);
    CHECK(tokenmill_stream_push(stream, ids, count, &text, &size) == TOKENMILL_OK);
    tokenmill_stream_free(stream);
}

static void ask_everything(const tokenmill_tokenizer *tokenizer) {
    tokenmill_bytes bytes = {NULL, 0};
    uint32_t id = 0;
    size_t count = 0;
    CHECK(tokenmill_vocab_size(tokenizer) > 1000);
    CHECK(tokenmill_special_ids(tokenizer, &count) != NULL || count == 0);
    CHECK(tokenmill_id_to_token(tokenizer, 300, &bytes) == TOKENMILL_OK);
    CHECK(tokenmill_token_to_id(tokenizer, bytes.data, bytes.size, &id) == TOKENMILL_OK);
    CHECK(id == 300);
    tokenmill_bytes_free(&bytes);
    CHECK(tokenmill_id_to_bytes(tokenizer, 300, &bytes) == TOKENMILL_OK);
    tokenmill_bytes_free(&bytes);
    CHECK(tokenmill_id_to_bytes(tokenizer, 99999999, &bytes) == TOKENMILL_UNKNOWN_ID);
    CHECK(tokenmill_token_to_id(tokenizer, "no such token", 13, &id) == TOKENMILL_UNKNOWN_TOKEN);
    CHECK(strlen(tokenmill_describe(tokenizer, &count)) == count);
    CHECK(strlen(tokenmill_target(tokenizer)) > 0);
    CHECK(strcmp(tokenmill_status_name(TOKENMILL_OK), "OK") == 0);
    CHECK(strlen(tokenmill_version()) > 0);
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *data;
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size);
    CHECK(data != NULL && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    tokenmill_tokenizer *tokenizer = NULL;
    char *data;
    size_t size = 0;
    CHECK(argc == 2);
    CHECK(tokenmill_load("/no/such/file", NULL, &tokenizer) == TOKENMILL_NO_SUCH_FILE);
    CHECK(tokenmill_load(argv[1], NULL, &tokenizer) == TOKENMILL_OK);
    encode_all_ways(tokenizer);
    decode_all_ways(tokenizer);
    ask_everything(tokenizer);
    tokenmill_free(tokenizer);
    data = read_file(argv[1], &size);
    for (size_t cut = 0; cut < 5000; cut += 97) {
        CHECK(tokenmill_load_memory(data, cut, NULL, &tokenizer) == TOKENMILL_CORRUPT_MODEL);
    }
    CHECK(tokenmill_load_memory(data, size, NULL, &tokenizer) == TOKENMILL_OK);
    free(data);
    encode_all_ways(tokenizer);
    tokenmill_free(tokenizer);
    printf("every call was made\n");
    return 0;
}
