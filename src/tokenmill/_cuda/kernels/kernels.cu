// Every kernel. The structs of layout.py stand before this text.
#include "platform.h"

#include "batch.h"

#include "bounds.h"
#include "clear.h"

#include "collect.h"
#include "flags.h"

#include "words.h"

#include "tile_sums.h"

#include "look_up.h"

#include "dedupe.h"

#include "exact.h"

#include "merge.h"

#include "merge_long.h"

#include "emit.h"

#include "insert.h"

#include "rows.h"
#include "splice.h"
