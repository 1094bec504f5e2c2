// From words to ids: scan_words, look_up, dedupe_misses, the merges, finish_misses, scan_ids,
// emit_ids, document_ids and insert_words.
#pragma once

#include "collect.h"
#include "flags.h"
#include "words.h"

#include "tile_sums.h"

#include "look_up.h"

#include "dedupe.h"

#if TM_LOOKS_UP
#include "word_piece.h"

#include "unigram.h"

#include "word_lists.h"
#else
#include "exact.h"

#include "merge.h"

#include "merge_long.h"
#endif

#include "finish_misses.h"

#include "emit.h"

#include "documents.h"

#include "insert.h"
