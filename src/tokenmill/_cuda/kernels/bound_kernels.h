// The kernels from the start of a batch to the bits of its words: clear_batch, mark_documents, one
// of bounds_masks, bounds_scan, bounds_pairs and bounds_classes, and those that find added tokens.
#pragma once

#include "bounds.h"
#include "char_bounds.h"
#include "class_bounds.h"

#include "bounds_again.h"

#include "clear.h"
#include "find_added.h"
