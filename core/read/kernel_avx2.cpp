#include <immintrin.h>

#include <cstring>

#include "base/bytes.h"
#include "read/kernel.h"
#include "simd/masks.h"
#include "unicode/unicode.h"

// clang-format off: the order matters, each file uses the ones before it.
#include "simd/begin_avx2.h"
namespace tokenmill::avx2 {
namespace {
using namespace tokenmill::read;
#include "simd/block_avx2.h"
#include "simd/block_bmi2.h"
#include "simd/utf8-inl.h"
#include "read/scan_vector-inl.h"
#include "read/record-inl.h"
#include "read/json-inl.h"
}  // namespace
}  // namespace tokenmill::avx2
#include "simd/end.h"
// clang-format on

namespace tokenmill::read {

const ReadKernel kAvx2Kernel = {avx2::scan_line, avx2::scan_members, avx2::unescape, avx2::is_utf8,
                                avx2::count_newlines};

}  // namespace tokenmill::read
