// worker: the loops of a worker, compiled for any CPU.
#include "pipeline/worker-all.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::scalar {
namespace {
#include "simd/block_plain.h"
#include "simd/block_scalar.h"
#define TOKENMILL_CHARS3 "split/chars3_scalar-inl.h"
#define TOKENMILL_EMIT "encode/emit_scalar-inl.h"
#define TOKENMILL_LANES "encode/lanes_scalar-inl.h"
#define TOKENMILL_PROBE "encode/probe_scalar-inl.h"
#define TOKENMILL_UNITS "encode/units_scalar-inl.h"
#define TOKENMILL_TRANSCODE "pipeline/transcode_scalar-inl.h"
#include "pipeline/worker-all-inl.h"
}  // namespace
}  // namespace tokenmill::scalar
// clang-format on

const tokenmill::pipeline::EncodeKernel tokenmill::pipeline::kScalarKernel =
    tokenmill::scalar::kKernel;
