"""What `tokenmill serve` was asked for: models, address, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HttpLimits:
    """What one connection may take: bytes, connections, seconds."""

    max_body_bytes: int = 64 << 20
    max_header_bytes: int = 64 << 10
    max_connections: int = 20_000
    idle_seconds: float = 75.0  # between requests
    read_seconds: float = 30.0  # from the first byte of a request to its last
    write_seconds: float = 30.0  # that a client takes no byte of its answer
    grace_seconds: float = 10.0  # for work that is under way when the server stops


@dataclass(frozen=True)
class ServeOptions:
    """Everything a worker needs to know; made by the command line."""

    models: tuple[tuple[str, str | None], ...]  # (name, source); no source: the built-in tokenizer
    host: str = "127.0.0.1"
    port: int = 8000
    unix_socket: str | None = None
    workers: int = 1
    token: str | None = None
    certificate: str | None = None
    private_key: str | None = None
    max_model_len: int | None = None
    profile: str = "inference"
    cache_folder: str | None = None  # of the segment cache, for its tier on disk
    warm: str | None = None  # a file of texts for it
    trusts_templates: bool = False  # chat templates that come with a request
    json_logs: bool = False
    http: HttpLimits = field(default_factory=HttpLimits)
    service: dict[str, Any] = field(default_factory=dict)  # limits of the Service, by name
