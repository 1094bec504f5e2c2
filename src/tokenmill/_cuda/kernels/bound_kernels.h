// The kernels from the begin of a batch to the bits of its words.
#pragma once

#include "bounds.h"
#include "clear.h"
