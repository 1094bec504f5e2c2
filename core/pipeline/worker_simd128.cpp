// worker: the loops of a worker, compiled for SIMD128 of WebAssembly.
#include <wasm_simd128.h>

#include "pipeline/worker-all.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::simd128 {
namespace {
#include "simd/block_plain.h"
#include "simd/vector_simd128.h"
#include "simd/block_vector128.h"
#define TOKENMILL_CHARS3 "split/chars3_simd128-inl.h"
#define TOKENMILL_EMIT "encode/emit_vector128-inl.h"
#define TOKENMILL_LANES "encode/lanes_vector128-inl.h"
#define TOKENMILL_PROBE "encode/probe_vector128-inl.h"
#define TOKENMILL_UNITS "encode/units_vector128-inl.h"
#define TOKENMILL_TRANSCODE "pipeline/transcode_vector128-inl.h"
#include "pipeline/worker-all-inl.h"
}  // namespace
}  // namespace tokenmill::simd128
// clang-format on

const tokenmill::pipeline::EncodeKernel tokenmill::pipeline::kSimd128Kernel =
    tokenmill::simd128::kKernel;
