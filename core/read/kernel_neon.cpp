#include <arm_neon.h>

#include <cstring>

#include "base/bytes.h"
#include "read/kernel.h"
#include "simd/masks.h"
#include "unicode/unicode.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::neon {
namespace {
using namespace tokenmill::read;
#include "simd/block_plain.h"
#include "simd/vector_neon.h"
#include "simd/block_vector128.h"
#include "simd/utf8-inl.h"
#include "read/scan_vector-inl.h"
#include "read/record-inl.h"
#include "read/json-inl.h"
}  // namespace
}  // namespace tokenmill::neon
// clang-format on

namespace tokenmill::read {

const ReadKernel kNeonKernel = {neon::scan_line, neon::scan_members, neon::unescape, neon::is_utf8,
                                neon::count_newlines};

}  // namespace tokenmill::read
