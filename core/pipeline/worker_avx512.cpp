// worker: the loops of a worker, compiled for AVX-512.
#include <immintrin.h>

#include "pipeline/worker-all.h"

// clang-format off: the order matters, each file uses the ones before it.
#include "simd/begin_avx512.h"
namespace tokenmill::avx512 {
namespace {
#include "simd/block_avx512.h"
#include "simd/block_bmi2.h"
#define TOKENMILL_CHARS3 "split/chars3_avx512-inl.h"
#define TOKENMILL_EMIT "encode/emit_avx512-inl.h"
#define TOKENMILL_LANES "encode/lanes_avx512-inl.h"
#define TOKENMILL_PROBE "encode/probe_avx512-inl.h"
#define TOKENMILL_UNITS "encode/units_avx512-inl.h"
#define TOKENMILL_TRANSCODE "pipeline/transcode_avx512-inl.h"
#include "pipeline/worker-all-inl.h"
}  // namespace
}  // namespace tokenmill::avx512
#include "simd/end.h"
// clang-format on

const tokenmill::pipeline::EncodeKernel tokenmill::pipeline::kAvx512Kernel =
    tokenmill::avx512::kKernel;
