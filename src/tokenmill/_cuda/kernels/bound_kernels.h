// The kernels from the start of a batch to the bits of its words: clear_batch, mark_documents, and
// bounds_masks or bounds_scan.
#pragma once

#include "bounds.h"
#include "clear.h"
