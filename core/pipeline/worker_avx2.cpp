#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "pipeline/worker.h"
#include "simd/masks.h"

// clang-format off: the order matters, each file uses the ones before it.
#include "simd/begin_avx2.h"
namespace tokenmill::avx2 {
namespace {
#include "simd/block_avx2.h"
#include "simd/block_bmi2.h"
#include "simd/utf8-inl.h"
#include "split/chars3-inl.h"
#include "split/chars3_avx2-inl.h"
#include "split/classify-inl.h"
#include "split/split-inl.h"
#include "split/adjacent-inl.h"
#include "encode/lanes-inl.h"
#include "encode/lanes_avx2-inl.h"
#include "encode/lockstep-inl.h"
#include "encode/misses-inl.h"
#include "encode/encode-inl.h"
#include "encode/units-inl.h"
#include "encode/units_scalar-inl.h"
#include "pipeline/lone-inl.h"
#include "pipeline/spans-inl.h"
#include "pipeline/worker-inl.h"
}  // namespace
}  // namespace tokenmill::avx2
#include "simd/end.h"
// clang-format on

namespace tokenmill::pipeline {

const Kernel kAvx2Kernel = {avx2::encode_range, avx2::flush_batch, avx2::is_utf8,
                            avx2::find_candidate};

}  // namespace tokenmill::pipeline
