#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "pipeline/worker.h"
#include "simd/masks.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::scalar {
namespace {
#include "simd/block_scalar.h"
#include "simd/utf8-inl.h"
#include "split/chars3-inl.h"
#include "split/chars3_scalar-inl.h"
#include "split/classify-inl.h"
#include "split/split-inl.h"
#include "split/adjacent-inl.h"
#include "encode/lanes-inl.h"
#include "encode/lanes_scalar-inl.h"
#include "encode/lockstep-inl.h"
#include "encode/misses-inl.h"
#include "encode/encode-inl.h"
#include "encode/units-inl.h"
#include "encode/units_scalar-inl.h"
#include "pipeline/lone-inl.h"
#include "pipeline/spans-inl.h"
#include "pipeline/worker-inl.h"
}  // namespace
}  // namespace tokenmill::scalar
// clang-format on

namespace tokenmill::pipeline {

const Kernel kScalarKernel = {scalar::encode_range, scalar::flush_batch, scalar::is_utf8,
                              scalar::find_candidate};

}  // namespace tokenmill::pipeline
