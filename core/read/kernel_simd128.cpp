#include <wasm_simd128.h>

#include <cstring>

#include "base/bytes.h"
#include "read/kernel.h"
#include "simd/masks.h"
#include "unicode/unicode.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::simd128 {
namespace {
using namespace tokenmill::read;
#include "simd/block_plain.h"
#include "simd/vector_simd128.h"
#include "simd/block_vector128.h"
#include "simd/utf8-inl.h"
#include "read/scan_vector-inl.h"
#include "read/record-inl.h"
#include "read/json-inl.h"
}  // namespace
}  // namespace tokenmill::simd128
// clang-format on

namespace tokenmill::read {

const ReadKernel kSimd128Kernel = {simd128::scan_line, simd128::scan_members, simd128::unescape,
                                   simd128::is_utf8, simd128::count_newlines};

}  // namespace tokenmill::read
