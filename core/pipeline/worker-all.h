// What worker-all-inl.h needs outside of any namespace.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "pipeline/worker.h"
#include "simd/masks.h"
