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
#include "simd/begin_avx512.h"
namespace tokenmill::avx512 {
namespace {
#include "simd/block_avx512.h"
#include "simd/block_bmi2.h"
#include "simd/utf8-inl.h"
#include "split/chars3-inl.h"
#include "split/chars3_avx512-inl.h"
#include "split/classify-inl.h"
#include "split/split-inl.h"
#include "split/adjacent-inl.h"
#include "encode/lanes-inl.h"
#include "encode/lanes_avx512-inl.h"
#include "encode/lockstep-inl.h"
#include "encode/misses-inl.h"
#include "encode/encode-inl.h"
#include "encode/units-inl.h"
#include "encode/units_avx512-inl.h"
#include "pipeline/lone-inl.h"
#include "pipeline/spans-inl.h"
#include "pipeline/worker-inl.h"
}  // namespace
}  // namespace tokenmill::avx512
#include "simd/end.h"
// clang-format on

namespace tokenmill::pipeline {

const Kernel kAvx512Kernel = {avx512::encode_range, avx512::flush_batch, avx512::is_utf8,
                              avx512::find_candidate};

}  // namespace tokenmill::pipeline
