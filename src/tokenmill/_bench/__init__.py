"""Texts -> a table of times: the same documents through several tokenizer libraries.

`read_documents` or `make_documents` gives the texts, `measure` runs every row in a process of its
own and compares the ids, `draw` makes a picture of the result. The names are loaded when they are
first used: the process of another library must hold nothing of ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._bench.documents import Documents, make_documents, read_documents
    from tokenmill._bench.plot import check_plot, draw
    from tokenmill._bench.processes import LIBRARIES, Request, measure
    from tokenmill._bench.result import Result, Row, describe_machine

__all__ = [
    "LIBRARIES",
    "Documents",
    "Request",
    "Result",
    "Row",
    "check_plot",
    "describe_machine",
    "draw",
    "make_documents",
    "measure",
    "read_documents",
]

_HOMES = {
    "LIBRARIES": "tokenmill._bench.processes",
    "Documents": "tokenmill._bench.documents",
    "Request": "tokenmill._bench.processes",
    "Result": "tokenmill._bench.result",
    "Row": "tokenmill._bench.result",
    "check_plot": "tokenmill._bench.plot",
    "describe_machine": "tokenmill._bench.result",
    "draw": "tokenmill._bench.plot",
    "make_documents": "tokenmill._bench.documents",
    "measure": "tokenmill._bench.processes",
    "read_documents": "tokenmill._bench.documents",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
