// All text that is compiled once per target, in the order in which it depends on itself. A target's
// worker_<target>.cpp includes it inside its namespace, after its block of simd, and names the
// six files of its own: TOKENMILL_CHARS3, TOKENMILL_EMIT, TOKENMILL_LANES, TOKENMILL_PROBE,
// TOKENMILL_UNITS and TOKENMILL_TRANSCODE.

// clang-format off: the order matters, each file uses the ones before it.
#include "simd/utf8-inl.h"

#include "split/added-inl.h"
#include "split/chars3-inl.h"
#include TOKENMILL_CHARS3
#include "split/classify-inl.h"
#include "split/white-inl.h"
#include "split/cased-inl.h"
#include "split/split-inl.h"
#include "split/adjacent-inl.h"

#include "encode/lanes-inl.h"
#include TOKENMILL_LANES
#include "encode/lockstep-inl.h"
#include "encode/misses-inl.h"
#include TOKENMILL_EMIT
#include "encode/ahead-inl.h"
#include TOKENMILL_PROBE
#include "encode/encode-inl.h"
#include "encode/units-inl.h"
#include TOKENMILL_UNITS
#include "encode/append-inl.h"

#include TOKENMILL_TRANSCODE
#include "pipeline/transcode-inl.h"
#include "pipeline/lone-inl.h"
#include "pipeline/places-inl.h"
#include "pipeline/spans-inl.h"
#include "pipeline/worker-inl.h"
// clang-format on

constexpr pipeline::EncodeKernel kKernel = {encode_range,   flush_batch, is_utf8,  check_text,
                                            find_candidate, utf8_size,   transcode};
