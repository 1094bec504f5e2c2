"""From the ids of texts to the rows that a model wants: templates, truncation, padding.

The way of a batch: `truncation` says which window of each text goes into which row, `rows` lays
the parts of the template out as a table of segments, and every column of the result (ids, types,
masks, and what else there is for each token) is one vectorised pass over that table.
"""

from tokenmill._post.assemble import Encoded, assemble, encode_side
from tokenmill._post.request import BatchOptions, ResultOptions, RowOptions, Wanted, wanted_of
from tokenmill._post.templates import Templates, templates_of

__all__ = [
    "BatchOptions",
    "Encoded",
    "ResultOptions",
    "RowOptions",
    "Templates",
    "Wanted",
    "assemble",
    "encode_side",
    "templates_of",
    "wanted_of",
]
