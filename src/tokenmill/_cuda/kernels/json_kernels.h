// From the raw bytes of JSONL to texts: json_marks, json_line_bases, json_line_ends,
// json_malformed, json_walk, json_lone, json_settle, json_sizes, json_text_bases and json_copy.
#pragma once

#include "json_text.h"
