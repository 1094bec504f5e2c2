"""The mill: inputs -> packed, checksummed shards; deterministic, resumable, with books.

The names below are loaded when they are first used: a command imports what it needs and no more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._pipeline.estimating import Estimate, estimate
    from tokenmill._pipeline.inspecting import DocumentView, RowView, SourceView, inspect
    from tokenmill._pipeline.manifest import Manifest
    from tokenmill._pipeline.memory import parse_size
    from tokenmill._pipeline.prepare import PackResult, Task, pack, pack_task, prepare_task
    from tokenmill._pipeline.recipe import read_recipe
    from tokenmill._pipeline.reports import status
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

_HOMES = {
    "REASONS": "tokenmill._read.blocks",
    "DocumentView": "tokenmill._pipeline.inspecting",
    "Estimate": "tokenmill._pipeline.estimating",
    "Manifest": "tokenmill._pipeline.manifest",
    "PackResult": "tokenmill._pipeline.prepare",
    "RowView": "tokenmill._pipeline.inspecting",
    "Source": "tokenmill._pipeline.sources",
    "SourceView": "tokenmill._pipeline.inspecting",
    "Task": "tokenmill._pipeline.prepare",
    "TokenStream": "tokenmill._pipeline.token_stream",
    "VerifyReport": "tokenmill._pipeline.verifying",
    "estimate": "tokenmill._pipeline.estimating",
    "inspect": "tokenmill._pipeline.inspecting",
    "pack": "tokenmill._pipeline.prepare",
    "pack_task": "tokenmill._pipeline.prepare",
    "parse_size": "tokenmill._pipeline.memory",
    "parse_source": "tokenmill._pipeline.sources",
    "prepare_task": "tokenmill._pipeline.prepare",
    "read_recipe": "tokenmill._pipeline.recipe",
    "rewrite": "tokenmill._pipeline.rewriting",
    "status": "tokenmill._pipeline.reports",
    "stream": "tokenmill._pipeline.token_stream",
    "verify": "tokenmill._pipeline.verifying",
    "write_shards": "tokenmill._pipeline.writing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
