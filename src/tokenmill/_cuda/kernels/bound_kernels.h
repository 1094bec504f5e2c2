// The kernels from the start of a batch to the bits of its words: clear_batch, mark_documents, and
// bounds_masks, bounds_scan, bounds_pairs or bounds_classes.
#pragma once

#include "bounds.h"
#include "char_bounds.h"
#include "class_bounds.h"
#include "clear.h"
