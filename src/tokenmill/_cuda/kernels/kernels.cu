// Every kernel. The structs and enums of layout.py come before this text.
#include "platform.h"

#include "bound_kernels.h"

#include "word_kernels.h"

#include "json_kernels.h"
#include "rows.h"
#include "splice.h"
#include "transfer.h"
