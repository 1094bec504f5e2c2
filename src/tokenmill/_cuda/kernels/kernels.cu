// Every kernel. The structs Tables and Batch (layout.py) stand before this text.
#include "platform.h"

#include "batch.h"

#include "bounds.h"
#include "clear.h"
