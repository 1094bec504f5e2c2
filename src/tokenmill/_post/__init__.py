"""From the ids of texts to the rows that a model wants: templates, truncation, padding.

The way of a batch: `truncation` says which window of each text goes into which row, `rows` lays
the parts of the template out as a table of segments, and every column of the result (ids, types,
masks, and what else there is for each token) is one pass over that table. `one_row` does the same
for a single text, where arrays would cost more than the work.
"""

from tokenmill._post.assemble import assemble, encode_side
from tokenmill._post.enough import encode_enough, is_long, may_be_long, may_stop, tokens_needed
from tokenmill._post.layout import NO_WORD, Encoded, Layout, arrange
from tokenmill._post.one_row import OneRow, arrange_one, as_list
from tokenmill._post.request import (
    BatchOptions,
    Padding,
    ResultOptions,
    RowOptions,
    Truncation,
    Wanted,
    wanted_of,
)
from tokenmill._post.rows import PAD
from tokenmill._post.templates import SIDES, Templates, templates_of

__all__ = [
    "NO_WORD",
    "PAD",
    "SIDES",
    "BatchOptions",
    "Encoded",
    "Layout",
    "OneRow",
    "Padding",
    "ResultOptions",
    "RowOptions",
    "Templates",
    "Truncation",
    "Wanted",
    "arrange",
    "arrange_one",
    "as_list",
    "assemble",
    "encode_enough",
    "encode_side",
    "is_long",
    "may_be_long",
    "may_stop",
    "templates_of",
    "tokens_needed",
    "wanted_of",
]
