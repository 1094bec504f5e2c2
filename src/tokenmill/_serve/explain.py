"""Limits of connections -> a table that says every value and why, for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokenmill._service.explain import table

if TYPE_CHECKING:
    from tokenmill._serve.options import HttpLimits

_WHY = {
    "max_body_bytes": "of one request; a longer one is refused by its header",
    "max_header_bytes": "of one request",
    "max_connections": "of each worker; one more is refused",
    "idle_seconds": "between two requests, after which a connection ends",
    "read_seconds": "from the first byte of a request to its last",
    "write_seconds": "that a client takes no byte of its answer, before it is cut off",
    "grace_seconds": "for work that is under way when the server stops",
}


def explain_http(limits: HttpLimits) -> str:
    """Return a line for each limit of connections: its name, its value, and what it is for."""
    return "\n".join(["HTTP: what connections may take", *table(asdict(limits), _WHY)])
