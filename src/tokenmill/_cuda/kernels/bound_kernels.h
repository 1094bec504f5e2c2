// The kernels from the start of a batch to the bits of its words: clear_batch, mark_documents, and
// bounds_masks, bounds_scan or bounds_pairs.
#pragma once

#include "bounds.h"
#include "char_bounds.h"
#include "clear.h"
