"""One process of a server: its event loop, its service, from the first model to the last answer."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from tokenmill._serve.accept import TCP, Acceptor
from tokenmill._serve.app import App
from tokenmill._serve.chat import Chat
from tokenmill._serve.connection import Connection
from tokenmill._serve.connections import Connections
from tokenmill._serve.gate import Gate
from tokenmill._serve.line import Line
from tokenmill._serve.log import ServeLog
from tokenmill._serve.models import ServedModels
from tokenmill._serve.prepare import prepare_model
from tokenmill._serve.render_routes import RenderRoutes
from tokenmill._serve.segments import open_segments, warm_segments
from tokenmill._serve.sockets import BACKLOG, tls_of
from tokenmill._serve.state_routes import StateRoutes
from tokenmill._serve.tokenize_routes import TokenizeRoutes
from tokenmill._serve.watch_routes import WatchRoutes
from tokenmill._service import Service
from tokenmill._service.limits import limits_of
from tokenmill._service.watch import Watch
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from tokenmill._serve.options import ServeOptions
    from tokenmill._serve.team import Team

DONE = 0
CANNOT_START = 3  # a model cannot be loaded: starting again would not help
_LOOK_SECONDS = 0.01
_SWITCH_SECONDS = 5e-4  # that a thread may keep the GIL from the event loop, e.g. for a template


class ServeWorker:
    """Serves on sockets that are open already, until a signal or the end of its parent."""

    def __init__(
        self,
        options: ServeOptions,
        sockets: Sequence[socket.socket],
        team: Team | None = None,
        *,
        waits: bool = False,
    ) -> None:
        """Make a worker.

        `waits`: take connections only when the models are loaded, because other workers of the
        team take them meanwhile.
        """
        self._options = options
        self._sockets = sockets
        self._team = team
        self._waits = waits
        name = "serve" if team is None else f"serve worker {team.counters.row}"
        self._log = ServeLog(as_json=options.json_logs, who=name)
        self._stop = asyncio.Event()
        self._status = DONE

    def run(self) -> int:
        """Run the event loop; return the exit status."""
        loop = _new_loop()
        asyncio.set_event_loop(loop)
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            return loop.run_until_complete(self._serve())
        finally:
            loop.close()
            asyncio.set_event_loop(None)

    async def _serve(self) -> int:
        options = self._options
        tables = limits_of(options.profile, options.service).tables  # type: ignore[arg-type]
        sources = {name: source or Tokenizer.load(tables=tables) for name, source in options.models}
        cache = open_segments(options)
        team = self._team
        counters = None if team is None else team.counters
        service = Service(
            sources, profile=options.profile, cache=cache, counters=counters, **options.service
        )
        connections = Connections(options.http, team)
        watch = Watch(
            service,
            gauges=None if team is None else team.gauges,
            failures=lambda: app.failures,
            in_line=lambda: len(app.line),
            report=lambda event: self._log.info(str(event)),
        )
        app = self._app(service, connections, watch)
        self._listen_to_signals()
        loading = asyncio.ensure_future(self._load(service))
        if self._waits:
            await loading
        watch.start()
        # Other workers see at once that this one is ready.
        loading.add_done_callback(lambda _: None if self._stop.is_set() else watch.look())
        servers = [] if self._stop.is_set() else await self._listen(connections, app)
        await self._stop.wait()
        connections.is_stopping = True
        watch.stop()
        for server in servers:
            server.close()
        self._log.info("stopping", connections=len(connections))
        cut_off = await connections.stop()
        loading.cancel()
        await service.close(0.0)
        if cache is not None:
            cache.close()
        self._log.info("stopped", cut_off=cut_off)
        return self._status

    def _app(self, service: Service, connections: Connections, watch: Watch) -> App:
        options = self._options
        models = ServedModels(options)
        chat = Chat(service, trusts_templates=options.trusts_templates)
        groups = (
            TokenizeRoutes(service, chat, models.max_model_len),
            RenderRoutes(service, chat, models.max_model_len),
            StateRoutes(service, models, connections, watch, self._stop.is_set),
            WatchRoutes(service, watch),
        )
        routes = [route for group in groups for route in group.routes()]
        gate, line = Gate(service), Line(service)
        return App(routes, gate=gate, line=line, token=options.token, log=self._log)

    async def _load(self, service: Service) -> None:
        """Load the models; a server without one of them does not stay."""
        await service.start(wait=False, prepare=prepare_model)
        while any(state.state == "loading" for state in service.models.values()):
            await asyncio.sleep(_LOOK_SECONDS)
        for name, state in service.models.items():
            if state.state == "failed":
                self._log.error("cannot load", model=name, error=state.error)
                self._status = CANNOT_START
                self._stop.set()
            else:
                self._log.info("loaded", model=name, seconds=round(state.seconds, 3))
        if self._status == DONE:
            warm_segments(service, self._options, self._log)
        gc.collect()
        gc.freeze()  # what is there now lives as long as the process: later passes skip it

    async def _listen(self, connections: Connections, app: App) -> list[Acceptor | asyncio.Server]:
        make = partial(Connection, connections, app)
        loop = asyncio.get_running_loop()
        tls = tls_of(self._options)
        if self._team is not None:
            self._team.note(0)
            return [Acceptor(one, make, tls, self._team.is_ahead) for one in self._sockets]
        servers: list[Acceptor | asyncio.Server] = []
        for listening in self._sockets:
            is_unix = listening.family not in TCP
            create = loop.create_unix_server if is_unix else loop.create_server
            servers.append(await create(make, sock=listening, ssl=tls, backlog=BACKLOG))
        return servers

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        if self._team is not None:
            loop.add_reader(self._team.lifeline, self._stop.set)


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which takes half the time of asyncio's own, if it is there."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    make: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return make()
