"""`tokenmill serve`: ids, counts and texts over HTTP, with the routes of vLLM and SGLang."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._serve.options import ServeOptions


def serve(options: ServeOptions) -> int:
    """Serve until a signal; return the exit status."""
    from tokenmill._errors import MissingDependency, TokenmillError

    if sys.platform == "win32":
        problem = "needs Unix signals and sockets, which this system does not have"
        raise TokenmillError(problem, where="serve", hint="use WSL, or a Service in your program")
    try:
        import httptools  # noqa: F401 -- the parser of requests
    except ImportError as error:
        hint = "pip install 'tokenmill[serve]'"
        raise MissingDependency(
            "not installed, but serve needs it", name="httptools", hint=hint
        ) from error
    from tokenmill._serve.log import ServeLog
    from tokenmill._serve.parent import Parent
    from tokenmill._serve.segments import check_segments
    from tokenmill._serve.sockets import address_of, close, listen, tls_of
    from tokenmill._serve.worker import CANNOT_START, ServeWorker

    check_segments(options)
    tls_of(options)  # a wrong file is an error now, not one of each worker
    options = _with_files_for_all(options)
    sockets = listen(options)
    log = ServeLog(as_json=options.json_logs, who="serve")
    log.info(
        "listening",
        address=address_of(options, sockets),
        workers=options.workers,
        connections=options.http.max_connections,
    )
    try:
        if options.workers > 1:
            return Parent(options, sockets).run()
        status = ServeWorker(options, sockets).run()
        return 1 if status == CANNOT_START else status
    finally:
        close(options, sockets)


def _with_files_for_all(options: ServeOptions) -> ServeOptions:
    """Lower the number of connections to what the limit of open files allows."""
    from dataclasses import replace

    from tokenmill._serve.sockets import room_for

    most = room_for(options.http.max_connections)
    return replace(options, http=replace(options.http, max_connections=most))
