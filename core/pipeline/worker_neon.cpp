// worker: the loops of a worker, compiled for NEON.
#include <arm_neon.h>

#include "pipeline/worker-all.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::neon {
namespace {
#include "simd/block_plain.h"
#include "simd/vector_neon.h"
#include "simd/block_vector128.h"
#define TOKENMILL_CHARS3 "split/chars3_neon-inl.h"
#define TOKENMILL_EMIT "encode/emit_vector128-inl.h"
#define TOKENMILL_LANES "encode/lanes_vector128-inl.h"
#define TOKENMILL_PROBE "encode/probe_vector128-inl.h"
#define TOKENMILL_UNITS "encode/units_vector128-inl.h"
#define TOKENMILL_TRANSCODE "pipeline/transcode_vector128-inl.h"
#include "pipeline/worker-all-inl.h"
}  // namespace
}  // namespace tokenmill::neon
// clang-format on

const tokenmill::pipeline::EncodeKernel tokenmill::pipeline::kNeonKernel = tokenmill::neon::kKernel;
