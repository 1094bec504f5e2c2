"""All connections of a worker: how many, since when, and the end of those that take too long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http import HTTPStatus

    from tokenmill._serve.connection import Connection
    from tokenmill._serve.options import HttpLimits
    from tokenmill._serve.team import Team

_SWEEP_SECONDS = 0.25
_ARRIVAL_SECONDS = 0.5  # that a large request keeps its place: slow senders could take all of them


class Deadlines:
    """Connections in the order in which their time runs out: all have equally long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = asyncio.get_running_loop().time
        self._since: dict[Connection, float] = {}

    def add(self, connection: Connection) -> None:
        """Start the clock, unless it runs."""
        if connection not in self._since:
            self._since[connection] = self._now()

    def restart(self, connection: Connection) -> None:
        """Start the clock again."""
        self._since.pop(connection, None)
        self._since[connection] = self._now()

    def remove(self, connection: Connection) -> None:
        """Stop the clock."""
        if self._since:
            self._since.pop(connection, None)

    def expired(self, now: float) -> Iterator[Connection]:
        """Yield those whose time is over; each is forgotten."""
        while self._since:
            connection, since = next(iter(self._since.items()))
            if now - since < self._seconds:
                return
            del self._since[connection]
            yield connection


class Connections:
    """Counts connections and ends those that are idle, slow or too many."""

    def __init__(self, limits: HttpLimits, team: Team | None = None) -> None:
        """Make a room for connections, which a `team` of workers shares."""
        self.limits = limits
        self._team = team
        self._surplus = 0  # connections to end, because other workers have fewer
        self.reading = Deadlines(limits.read_seconds)
        self.writing = Deadlines(limits.write_seconds)
        self.idle = Deadlines(limits.idle_seconds)
        self.arriving = Deadlines(_ARRIVAL_SECONDS)  # large requests that have a place
        self.is_stopping = False
        self.refusals: dict[int, int] = {}  # requests that were not read to their end, by status
        self._open: set[Connection] = set()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: Connection) -> bool:
        """Count a new connection; False if there are too many."""
        is_welcome = len(self._open) < self.limits.max_connections and not self.is_stopping
        self._open.add(connection)
        self._tell_team()
        self.idle.add(connection)
        return is_welcome

    def leave(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        self._open.discard(connection)
        self._tell_team()
        self.idle.remove(connection)
        for deadlines in (self.reading, self.writing, self.arriving):
            deadlines.remove(connection)

    def is_one_too_many(self) -> bool:
        """Whether to end a connection after its answer, so that another worker gets it."""
        if self._surplus > 0:
            self._surplus -= 1
            return True
        return False

    def refused(self, status: HTTPStatus) -> None:
        """Count a request that was refused before it was complete."""
        self.refusals[status.value] = self.refusals.get(status.value, 0) + 1

    async def stop(self) -> int:
        """Let busy connections finish and end all others; return how many had to be cut off."""
        self.is_stopping = True
        deadline = self._loop.time() + self.limits.grace_seconds
        while self._open and self._loop.time() < deadline:
            for connection in list(self._open):
                connection.close()
            await asyncio.sleep(0.01)
        left = list(self._open)
        for connection in left:
            connection.abort()
        self._timer.cancel()
        return len(left)

    def _tell_team(self) -> None:
        if self._team is not None:
            self._team.note(len(self._open))

    def _sweep(self) -> None:
        now = self._loop.time()
        if self._team is not None:
            self._surplus = self._team.surplus()
        for late in (self.reading, self.writing):
            for connection in late.expired(now):
                connection.expire()
        for connection in self.arriving.expired(now):
            connection.lose_place()
        for connection in self.idle.expired(now):
            if connection.is_busy:
                self.idle.add(connection)
            else:
                connection.close()
        self._timer = self._loop.call_later(_SWEEP_SECONDS, self._sweep)
