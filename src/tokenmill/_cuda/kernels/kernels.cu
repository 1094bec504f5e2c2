// Every kernel. The structs of layout.py stand before this text.
#include "platform.h"

#include "bound_kernels.h"

#include "word_kernels.h"

#include "rows.h"
#include "splice.h"
