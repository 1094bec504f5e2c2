// base/platform: which processor this is compiled for. Each of the names is 1 or 0.
#pragma once

#if defined(__x86_64__) || (defined(_M_X64) && !defined(_M_ARM64EC))
#define TOKENMILL_X86_64 1
#else
#define TOKENMILL_X86_64 0
#endif

#if defined(__aarch64__) || defined(_M_ARM64)
#define TOKENMILL_AARCH64 1
#else
#define TOKENMILL_AARCH64 0
#endif

#if defined(__wasm32__)
#define TOKENMILL_WASM32 1
#else
#define TOKENMILL_WASM32 0
#endif
