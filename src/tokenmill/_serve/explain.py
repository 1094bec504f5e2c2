"""Limits of connections -> a table that says every value and why, for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokenmill._service.explain import table

if TYPE_CHECKING:
    from tokenmill._serve.options import HttpLimits

_WHY = {
    "max_body_bytes": "body of one request; a longer one is refused by its header",
    "max_header_bytes": "headers of one request",
    "max_connections": "connections of each worker; one more is refused",
    "idle_seconds": "without a request, after which a connection is closed",
    "read_seconds": "for a request to arrive completely",
    "write_seconds": "for a client that takes no byte of its answer",
    "grace_seconds": "for work under way when the server stops",
}


def explain_http(limits: HttpLimits) -> str:
    """Return a line for each limit of connections: its name, its value, and what it is for."""
    return "\n".join(["HTTP: limits of connections", *table(asdict(limits), _WHY)])
