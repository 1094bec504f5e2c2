/* tokenmill: an exact, very fast tokenizer, for C and every language that can call C.
 *
 * A tokenizer is loaded from a compiled model, a `.mill` file. Any number of threads may use one
 * tokenizer at the same time. Functions never throw and never abort; those that can fail return a
 * status, and tokenmill_error_message() then says in words what is wrong.
 *
 * Texts are UTF-8 with a size; they need not end with a zero. Structures of options begin with
 * their own size, so that later versions can add members: start with the INIT macro. A null pointer
 * for options means the defaults.
 */
#ifndef TOKENMILL_H
#define TOKENMILL_H

#include <stddef.h>
#include <stdint.h>

#if defined(TOKENMILL_STATIC)
#define TOKENMILL_API
#elif defined(_WIN32) && defined(TOKENMILL_BUILD)
#define TOKENMILL_API __declspec(dllexport)
#elif defined(_WIN32)
#define TOKENMILL_API __declspec(dllimport)
#elif defined(__GNUC__)
#define TOKENMILL_API __attribute__((visibility("default")))
#else
#define TOKENMILL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TOKENMILL_VERSION_MAJOR 0
#define TOKENMILL_VERSION_MINOR 1
#define TOKENMILL_VERSION_PATCH 0

/* The version of the library that is running, such as "0.1.0". */
TOKENMILL_API const char *tokenmill_version(void);

/* ---- Errors ---- */

/* A status is an int32_t. Numbers never change their meaning. */
typedef int32_t tokenmill_status;
enum {
    TOKENMILL_OK = 0,
    TOKENMILL_BAD_ARGUMENT = 1,     /* a null pointer, or an option that has no such value */
    TOKENMILL_OUT_OF_MEMORY = 2,
    TOKENMILL_NO_SUCH_FILE = 3,     /* or one that cannot be read */
    TOKENMILL_CORRUPT_MODEL = 4,    /* not a `.mill` file, or not as it was written */
    TOKENMILL_UNSUPPORTED = 5,      /* what only the Python package can do */
    TOKENMILL_INVALID_UTF8 = 6,
    TOKENMILL_SPECIAL_IN_TEXT = 7,  /* a special token, where the options forbid it */
    TOKENMILL_UNKNOWN_ID = 8,
    TOKENMILL_UNKNOWN_TOKEN = 9,
    TOKENMILL_OUTPUT_TOO_SMALL = 10,
    TOKENMILL_TEXT_TOO_LONG = 11,   /* offsets need texts below 4 GiB */
    TOKENMILL_BAD_DEFINITION = 12,  /* a tokenizer that cannot be compiled */
    TOKENMILL_INTERNAL = 13         /* a fault of tokenmill: please report it */
};

/* What was wrong with the last call of this thread that failed: where, what, and how to fix it.
 * Never null. The text stays until the next call of this thread that fails. */
TOKENMILL_API const char *tokenmill_error_message(void);
/* The name of a status, such as "CORRUPT_MODEL". Never null. */
TOKENMILL_API const char *tokenmill_status_name(tokenmill_status status);

/* ---- Loading ---- */

typedef struct tokenmill_tokenizer tokenmill_tokenizer;

enum { TOKENMILL_TABLES_USUAL = 0, TOKENMILL_TABLES_SMALL = 1, TOKENMILL_TABLES_TINY = 2 };

typedef struct tokenmill_load_options {
    size_t struct_size;
    /* How much memory a thread may use to remember words: up to 37, 12 or 2 MiB. */
    int32_t tables;
    /* tokenmill_load_memory only. 0: copy the bytes. 1: use them where they are; they must be
     * aligned to 64 bytes, and stay until tokenmill_free(). */
    int32_t borrow_memory;
} tokenmill_load_options;
#define TOKENMILL_LOAD_OPTIONS_INIT {sizeof(tokenmill_load_options), TOKENMILL_TABLES_USUAL, 0}

/* Loads a `.mill` file. `path` is UTF-8. The file is mapped: do not change it while it is in use.
 * Every byte is verified. On failure `*out` is null. */
TOKENMILL_API tokenmill_status tokenmill_load(const char *path,
                                              const tokenmill_load_options *options,
                                              tokenmill_tokenizer **out);
/* The same from the bytes of such a file. */
TOKENMILL_API tokenmill_status tokenmill_load_memory(const void *data, size_t size,
                                                     const tokenmill_load_options *options,
                                                     tokenmill_tokenizer **out);
/* Frees a tokenizer, which no thread may use any more. Null is fine. Streams that were made of it
 * must be freed before. */
TOKENMILL_API void tokenmill_free(tokenmill_tokenizer *tokenizer);

/* ---- Encoding ---- */

enum {
    TOKENMILL_SPECIAL_ENCODE = 0, /* a special token in a text becomes its id */
    TOKENMILL_SPECIAL_TEXT = 1,   /* it is text like any other */
    TOKENMILL_SPECIAL_RAISE = 2   /* it is an error: SPECIAL_IN_TEXT */
};
enum { TOKENMILL_UTF8_STRICT = 0, TOKENMILL_UTF8_REPLACE = 1 };
enum {
    TOKENMILL_OFFSETS_NONE = 0,
    TOKENMILL_OFFSETS_BYTES = 1,
    TOKENMILL_OFFSETS_CHARACTERS = 2, /* code points */
    TOKENMILL_OFFSETS_UTF16 = 3       /* code units of UTF-16, as in Java and JavaScript */
};

typedef struct tokenmill_encode_options {
    size_t struct_size;
    int32_t add_special_tokens; /* 1: the tokens that belong before and after a text */
    int32_t special_in_text;    /* TOKENMILL_SPECIAL_... */
    int32_t invalid_utf8;       /* STRICT: an error; REPLACE: U+FFFD */
    int32_t offsets;            /* TOKENMILL_OFFSETS_... of tokenmill_encode[_batch] */
    int32_t threads;            /* of tokenmill_encode_batch; 0: one for each core */
} tokenmill_encode_options;
#define TOKENMILL_ENCODE_OPTIONS_INIT {sizeof(tokenmill_encode_options), 0, 0, 0, 0, 1}

typedef struct tokenmill_text {
    const char *data;
    size_t size; /* bytes */
} tokenmill_text;

/* The ids of one text or many. */
typedef struct tokenmill_encoding tokenmill_encoding;

TOKENMILL_API tokenmill_status tokenmill_encode(const tokenmill_tokenizer *tokenizer,
                                                const char *text, size_t size,
                                                const tokenmill_encode_options *options,
                                                tokenmill_encoding **out);
TOKENMILL_API tokenmill_status tokenmill_encode_batch(const tokenmill_tokenizer *tokenizer,
                                                      const tokenmill_text *texts, size_t count,
                                                      const tokenmill_encode_options *options,
                                                      tokenmill_encoding **out);
/* The ids of all texts, one after the other, and how many there are. They stay until the encoding
 * is freed. */
TOKENMILL_API const uint32_t *tokenmill_encoding_ids(const tokenmill_encoding *encoding,
                                                     size_t *count);
/* Where each text begins among the ids: one number more than texts, the last is the end. */
TOKENMILL_API const int64_t *tokenmill_encoding_rows(const tokenmill_encoding *encoding,
                                                     size_t *count);
/* Where each id starts and ends in its text: two numbers for each id. Tokens around a text have
 * 0, 0. Null if the options asked for no offsets. */
TOKENMILL_API const uint32_t *tokenmill_encoding_offsets(const tokenmill_encoding *encoding,
                                                         size_t *count);
TOKENMILL_API void tokenmill_encoding_free(tokenmill_encoding *encoding);

/* Writes the ids of one text to memory of the caller, without allocating any. `*count` becomes the
 * number of ids; if that is more than `capacity`, the status is OUTPUT_TOO_SMALL, nothing is
 * written, and `*count` says how many are needed. Never more than the size of the text plus what
 * add_special_tokens adds, unless the tokenizer has a normalizer that lengthens text. */
TOKENMILL_API tokenmill_status tokenmill_encode_into(const tokenmill_tokenizer *tokenizer,
                                                     const char *text, size_t size,
                                                     const tokenmill_encode_options *options,
                                                     uint32_t *ids, size_t capacity,
                                                     size_t *count);
/* The number of ids of one text. Stops early where there are more than `limit`: the count is then
 * `limit` + 1. SIZE_MAX means no limit. */
TOKENMILL_API tokenmill_status tokenmill_count(const tokenmill_tokenizer *tokenizer,
                                               const char *text, size_t size,
                                               const tokenmill_encode_options *options,
                                               size_t limit, size_t *count);

/* ---- Decoding ---- */

/* Bytes that the library made. `data` has a zero after the last byte, which `size` does not count.
 * Free it with tokenmill_bytes_free(). */
typedef struct tokenmill_bytes {
    char *data;
    size_t size;
} tokenmill_bytes;
/* Null and what was freed already are fine. */
TOKENMILL_API void tokenmill_bytes_free(tokenmill_bytes *bytes);

typedef struct tokenmill_decode_options {
    size_t struct_size;
    int32_t skip_special_tokens; /* 1: leave them out */
    int32_t clean_up;            /* 1: no blanks before English punctuation and endings */
    int32_t as_bytes;            /* 0: UTF-8 text, U+FFFD for what is not; 1: bytes as they are */
} tokenmill_decode_options;
#define TOKENMILL_DECODE_OPTIONS_INIT {sizeof(tokenmill_decode_options), 0, 0, 0}

TOKENMILL_API tokenmill_status tokenmill_decode(const tokenmill_tokenizer *tokenizer,
                                                const uint32_t *ids, size_t count,
                                                const tokenmill_decode_options *options,
                                                tokenmill_bytes *out);

/* A stream gives the text of ids as they come, never half a character. All that it gives is what
 * tokenmill_decode() gives for all ids. One thread at a time may use a stream. */
typedef struct tokenmill_stream tokenmill_stream;
/* The tokenizer must outlive the stream. Of the options, `as_bytes` must be 0. */
TOKENMILL_API tokenmill_status tokenmill_stream_new(const tokenmill_tokenizer *tokenizer,
                                                    const tokenmill_decode_options *options,
                                                    tokenmill_stream **out);
/* Takes the next ids. `*text` and `*size` are what became certain, which may be nothing; the text
 * stays until the next call with this stream. */
TOKENMILL_API tokenmill_status tokenmill_stream_push(tokenmill_stream *stream, const uint32_t *ids,
                                                     size_t count, const char **text,
                                                     size_t *size);
/* The rest of the text. The stream is as new afterwards. */
TOKENMILL_API tokenmill_status tokenmill_stream_finish(tokenmill_stream *stream, const char **text,
                                                       size_t *size);
TOKENMILL_API void tokenmill_stream_free(tokenmill_stream *stream);

/* ---- The vocabulary ---- */

/* Ids are below this number; a few of them may be unused. 0 for null. */
TOKENMILL_API size_t tokenmill_vocab_size(const tokenmill_tokenizer *tokenizer);
/* The ids of special tokens, in the order of the tokenizer. They stay until it is freed. */
TOKENMILL_API const uint32_t *tokenmill_special_ids(const tokenmill_tokenizer *tokenizer,
                                                    size_t *count);
/* A token by the name that its vocabulary gives it: UNKNOWN_TOKEN if there is none. */
TOKENMILL_API tokenmill_status tokenmill_token_to_id(const tokenmill_tokenizer *tokenizer,
                                                     const char *token, size_t size, uint32_t *id);
/* The other way round: the name of an id. */
TOKENMILL_API tokenmill_status tokenmill_id_to_token(const tokenmill_tokenizer *tokenizer,
                                                     uint32_t id, tokenmill_bytes *out);
/* The bytes that an id decodes to after others. */
TOKENMILL_API tokenmill_status tokenmill_id_to_bytes(const tokenmill_tokenizer *tokenizer,
                                                     uint32_t id, tokenmill_bytes *out);
/* What is known about the tokenizer, as JSON. It stays until the tokenizer is freed. The members
 * may change from version to version. */
TOKENMILL_API const char *tokenmill_describe(const tokenmill_tokenizer *tokenizer, size_t *size);
/* Which code runs: "scalar", "avx2", "avx512", "neon" or "simd128". */
TOKENMILL_API const char *tokenmill_target(const tokenmill_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif

#endif
