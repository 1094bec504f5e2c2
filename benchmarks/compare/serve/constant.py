"""Our HTTP connection answering a constant, or /tokenize without the service: its own limit."""

from __future__ import annotations

import asyncio
import gc
import sys
from functools import partial
from typing import TYPE_CHECKING

import uvloop
from asgi_app import answer_to  # type: ignore[import-not-found]

from tokenmill._serve.connection import Connection
from tokenmill._serve.connections import Connections
from tokenmill._serve.messages import HttpAnswer
from tokenmill._serve.options import HttpLimits

if TYPE_CHECKING:
    from tokenmill._serve.messages import HttpRequest


class ConstantApp:
    """As much of an application as a connection needs."""

    small_bytes = sys.maxsize  # the gate has nothing to count

    def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer at once."""
        return HttpAnswer(200, answer_to(request.path.decode(), request.body))

    @property
    def gate(self) -> ConstantApp:
        """Return the gate, which is always open."""
        return self

    @property
    def line(self) -> ConstantApp:
        """Return the line, in which nobody waits."""
        return self

    def has_time(self) -> bool:
        """Answer at once."""
        return True


async def main(port: int) -> None:
    """Serve for ever."""
    make = partial(Connection, Connections(HttpLimits()), ConstantApp())  # type: ignore[arg-type]
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", port, backlog=4096)
    gc.collect()
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
