/* module: what the WebAssembly module has besides tokenmill.h. Not for other programs. */
#ifndef TOKENMILL_MODULE_H
#define TOKENMILL_MODULE_H

#include "tokenmill.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for what JavaScript hands in, aligned to 64 bytes; null if there is none left. */
TOKENMILL_API void* tokenmill_take(size_t size);
TOKENMILL_API void tokenmill_give_back(void* memory);

/* Frees what is kept to be used again: buffers of results. */
TOKENMILL_API void tokenmill_trim(void);

/* The bytes of a definition, as compile/native.ts writes them -> the bytes of a `.mill` file, in
 * memory for tokenmill_give_back(). */
TOKENMILL_API tokenmill_status tokenmill_compile(const void* definition, size_t size, void** file,
                                                 size_t* file_size);

/* A serialized normalizer and UTF-8 -> what it makes of the text. */
TOKENMILL_API tokenmill_status tokenmill_normalize(const void* program, size_t program_size,
                                                   const char* text, size_t size,
                                                   tokenmill_bytes* out);

#ifdef __cplusplus
}
#endif

#endif
