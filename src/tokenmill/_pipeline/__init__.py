"""The mill: inputs -> packed, checksummed shards; deterministic, resumable, with books."""

from tokenmill._pipeline.inspecting import DocumentView, RowView, SourceView, inspect
from tokenmill._pipeline.manifest import Manifest
from tokenmill._pipeline.memory import parse_size
from tokenmill._pipeline.prepare import PackResult, Task, pack, pack_task, prepare_task
from tokenmill._pipeline.recipe import read_recipe
from tokenmill._pipeline.reports import Estimate, estimate, status
from tokenmill._pipeline.rewriting import rewrite
from tokenmill._pipeline.sources import Source, parse_source
from tokenmill._pipeline.token_stream import TokenStream, stream
from tokenmill._pipeline.verifying import VerifyReport, verify
from tokenmill._pipeline.writing import write_shards
from tokenmill._read.blocks import REASONS

__all__ = [
    "REASONS",
    "DocumentView",
    "Estimate",
    "Manifest",
    "PackResult",
    "RowView",
    "Source",
    "SourceView",
    "Task",
    "TokenStream",
    "VerifyReport",
    "estimate",
    "inspect",
    "pack",
    "pack_task",
    "parse_size",
    "parse_source",
    "prepare_task",
    "read_recipe",
    "rewrite",
    "status",
    "stream",
    "verify",
    "write_shards",
]
