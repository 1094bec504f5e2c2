#include <cstring>

#include "base/bytes.h"
#include "read/kernel.h"
#include "simd/masks.h"
#include "unicode/unicode.h"

// clang-format off: the order matters, each file uses the ones before it.
namespace tokenmill::scalar {
namespace {
using namespace tokenmill::read;
#include "simd/block_plain.h"
#include "simd/block_scalar.h"
#include "simd/utf8-inl.h"
#include "read/scan_scalar-inl.h"
#include "read/record-inl.h"
#include "read/json-inl.h"
}  // namespace
}  // namespace tokenmill::scalar
// clang-format on

namespace tokenmill::read {

const ReadKernel kScalarKernel = {scalar::scan_line, scalar::scan_members, scalar::unescape,
                                  scalar::is_utf8, scalar::count_newlines};

}  // namespace tokenmill::read
