// The kernels from the start of a batch to the bits of its words: clear_batch, mark_documents,
// bounds_masks or bounds_scan, and those that find added tokens.
#pragma once

#include "bounds.h"
#include "clear.h"
#include "find_added.h"
