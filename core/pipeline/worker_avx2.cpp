// worker: the loops of a worker, compiled for AVX2.
#include <immintrin.h>

#include "pipeline/worker-all.h"

// clang-format off: the order matters, each file uses the ones before it.
#include "simd/begin_avx2.h"
namespace tokenmill::avx2 {
namespace {
#include "simd/block_avx2.h"
#include "simd/block_bmi2.h"
#define TOKENMILL_CHARS3 "split/chars3_avx2-inl.h"
#define TOKENMILL_EMIT "encode/emit_scalar-inl.h"
#define TOKENMILL_LANES "encode/lanes_avx2-inl.h"
#define TOKENMILL_PROBE "encode/probe_scalar-inl.h"
#define TOKENMILL_UNITS "encode/units_scalar-inl.h"
#define TOKENMILL_TRANSCODE "pipeline/transcode_avx2-inl.h"
#include "pipeline/worker-all-inl.h"
}  // namespace
}  // namespace tokenmill::avx2
#include "simd/end.h"
// clang-format on

const tokenmill::pipeline::EncodeKernel tokenmill::pipeline::kAvx2Kernel = tokenmill::avx2::kKernel;
