"""Inputs -> blocks of documents with their places, and the bad records.

`find_inputs` lists files, `find_field` finds their text field, `deal_streams` divides them, and
`open_stream` reads a stream in raw blocks, which `parse` turns into blocks of documents.
"""

from tokenmill._read.blocks import BadRecord, Block, Place, RawBlock
from tokenmill._read.expected import request_start
from tokenmill._read.fields import USUAL_FIELDS, choose_field, field_names, find_field
from tokenmill._read.inputs import InputFile, Inputs, assume_format, find_inputs
from tokenmill._read.line_numbers import lines_before
from tokenmill._read.parse import parse
from tokenmill._read.rules import ReadRules
from tokenmill._read.streams import (
    Segment,
    Stream,
    StreamReader,
    deal_streams,
    open_stream,
    text_size,
)

__all__ = [
    "USUAL_FIELDS",
    "BadRecord",
    "Block",
    "InputFile",
    "Inputs",
    "Place",
    "RawBlock",
    "ReadRules",
    "Segment",
    "Stream",
    "StreamReader",
    "assume_format",
    "choose_field",
    "deal_streams",
    "field_names",
    "find_field",
    "find_inputs",
    "lines_before",
    "open_stream",
    "parse",
    "request_start",
    "text_size",
]
