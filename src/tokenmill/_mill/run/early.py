"""Work of phase 2 that need not wait for the end of phase 1.

It follows the parts before the first gap. In the order of the plan, a shard is known as soon as the
tokens up to its end are, and workers make it between two blocks. The table of documents is always
in the order of the plan, and a thread of its own writes it as parts come.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokenmill._files import FileRecord
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.kept_ids import KeptIds
    from tokenmill._mill.output.parts import Part, PartRecord
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.run.prefix import Prefix
    from tokenmill._mill.run.shards import Sharding


class Early:
    """Hands the parts before the first gap to the table and, if there are any, to early shards."""

    def __init__(
        self,
        prefix: Prefix,
        part_of: Callable[[PartRecord], Part],
        table: EarlyTable,
        shards: EarlyShards | None,
    ) -> None:
        self._prefix = prefix
        self._part_of = part_of
        self._lock = threading.Lock()
        self._handed_on = 0
        self.table = table
        self.shards = shards

    def follow(self) -> list[Callable[[], None]]:
        """Hand on the parts that have come since the last call; return what workers can do now."""
        with self._lock:
            # Asked first: parts that are taken after it are for the next call. The other way round,
            # the last parts could come in between, and the shards before them be made without them.
            are_last = self._prefix.is_complete
            parts = [self._part_of(record) for record in self._prefix.taken[self._handed_on :]]
            self._handed_on += len(parts)
            self.table.extend(parts)
            if self.shards is None:
                return []
            return self.shards.ready(parts, are_last=are_last)

    @property
    def records(self) -> dict[int, ShardRecord]:
        """The shards that are finished, by number."""
        return {} if self.shards is None else self.shards.records


class EarlyShards:
    """The shards that are made during phase 1; `records` are those that are finished."""

    def __init__(self, sharding: Sharding, meter: Meter, kept: KeptIds | None = None) -> None:
        self._sharding = sharding
        self._meter = meter
        self._kept = kept
        self._begun = 0
        self._done = 0  # shards before the first one that is not finished
        self._waiting: deque[tuple[int, str]] = deque()  # kept parts: after their last token
        self._lock = threading.Lock()
        self.records: dict[int, ShardRecord] = {}

    def ready(self, parts: Sequence[Part], *, are_last: bool) -> list[Callable[[], None]]:
        """Return the work on each shard that these parts, the next ones, make possible."""
        sharding, begun = self._sharding, self._begun
        for part in parts:
            sharding.append(part)
            with self._lock:
                self._waiting.append((sharding.tokens, part.record.name))
        self._begun = sharding.count if are_last else sharding.complete_count
        return [partial(self._make, number) for number in range(begun, self._begun)]

    def _make(self, number: int) -> None:
        sharding = self._sharding
        record = sharding.record_of(number) or sharding.make(number, self._meter)
        self._meter.add(shards=1)
        with self._lock:
            self.records[number] = record
            while self._done in self.records:
                self._done += 1
            self._release(sharding.first_token(self._done))

    def _release(self, first: int) -> None:
        """Forget the kept ids before a token."""
        while self._kept is not None and self._waiting and self._waiting[0][0] <= first:
            self._kept.drop(self._waiting.popleft()[1])


class EarlyTable:
    """A table that `write` makes of parts, which it gets one by one."""

    def __init__(self, write: Callable[[Iterator[Part]], FileRecord]) -> None:
        self._write = write
        self._changed = threading.Condition()
        self._parts: list[Part] = []
        self._is_complete = self._is_given_up = False
        self._thread = ThreadPoolExecutor(1)
        self._result: Future[FileRecord] | None = None

    def start(self) -> None:
        """Begin, so that the libraries it needs are imported while workers run."""
        self._result = self._thread.submit(lambda: self._write(self._take()))

    def extend(self, parts: Sequence[Part]) -> None:
        """Add the next parts."""
        with self._changed:
            self._parts += parts
            self._changed.notify()

    def finish(self) -> FileRecord:
        """Return the record of the table, which has no further parts."""
        assert self._result is not None  # noqa: S101 -- it was started
        self._end(given_up=False)
        return self._result.result()

    def give_up(self) -> None:
        """Leave nothing, if it is not finished."""
        self._end(given_up=True)
        self._thread.shutdown()

    def _end(self, *, given_up: bool) -> None:
        with self._changed:
            self._is_complete, self._is_given_up = True, given_up
            self._changed.notify()

    def _take(self) -> Iterator[Part]:
        while True:
            with self._changed:
                while not self._parts and not self._is_complete:
                    self._changed.wait()
                if self._is_given_up:
                    raise _GivenUp
                taken, self._parts = self._parts, []
            if not taken:
                return
            yield from taken


class _GivenUp(Exception):  # noqa: N818 -- nobody sees it
    """The run has failed elsewhere."""
