// Every kernel. The structs of layout.py stand before this text.
#include "platform.h"

#include "batch.h"
#include "rows.h"
#include "splice.h"
