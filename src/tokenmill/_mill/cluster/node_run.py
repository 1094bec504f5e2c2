"""The run of one node: streams and shards on request, by all its cores.

It is what a plain run does, without its end: parts and shards go to the output that all nodes see,
and only their records go to the driver. Every task is a pure function of the plan and of what was
committed before it, and commits by renaming, so doing one twice gives the same bytes twice.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokenmill import _core
from tokenmill._errors import OutputError
from tokenmill._mill.output.part_shelf import PartShelf
from tokenmill._mill.output.parts import PartRecord
from tokenmill._mill.output.work import PLAN
from tokenmill._mill.plan.plan import refuse_another_plan
from tokenmill._mill.run.run import SPARES, Run
from tokenmill._mill.run.stream_parts import StreamParts
from tokenmill._mill.run.tokenize import Later, parts_of_stream

if TYPE_CHECKING:
    from tokenmill._mill.output.parts import Part
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.run.shards import Sharding
    from tokenmill._mill.run.tokenize import Tokenizing

PARTS = "parts.json"  # the records of all parts, in order, which the driver writes


@dataclass
class NodeRun(Run):
    """Streams and shards of a plan. Many threads may ask for some at the same time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lock = threading.Lock()
        self._streams: deque[tuple[int, list[PartRecord]]] = deque()
        self._asked: dict[int, _AskedStream] = {}
        self._open: Tokenizing | None = None
        self._thread: threading.Thread | None = None
        self._has_ended = False
        self._problem: BaseException | None = None
        self._slots = threading.Semaphore(self.workers)
        self.committed: list[PartRecord] = []  # by this process, in any order
        _core.keep_spares(_core.USUAL_SPARES + SPARES * self.workers)

    def check(self) -> None:
        """Raise if this node does not see the output of the driver."""
        facts = self._work.read_record(PLAN)
        if facts is None:
            raise OutputError(
                "this node does not see the plan that the driver has written",
                path=f"{self._work.where}/{PLAN}",
                hint="use an output folder that all nodes see under the same path",
            )
        refuse_another_plan(facts, self.plan.facts, self._work.where)

    # Streams

    def tokenize(self, stream: int) -> list[PartRecord]:
        """Return all parts of a stream, after making those that are missing.

        What comes back is short of the last part if the work was stopped.
        """
        done = parts_of_stream(PartShelf(self._work).read, stream)
        if done and done[-1].last:
            return done
        asked = _AskedStream(done)
        with self._lock:
            if self._has_ended:
                asked.end(self._problem)
            else:
                self._asked[stream] = asked
                self._streams.append((stream, done))
                self._wake()
        return asked.whole.result()

    def _wake(self) -> None:
        if self._open is None:
            self._open = self._tokenizing(self._next_stream)
            self._thread = threading.Thread(target=self._run_streams, args=(self._open,))
            self._thread.start()
        self._open.wake()

    def stop(self) -> None:
        """Stop reading streams, and leave nothing unfinished of them."""
        with self._lock:
            self._has_ended = True
            if self._open is not None:
                self._open.stop()
        if self._thread is not None:
            self._thread.join()

    def _next_stream(self) -> tuple[int, list[PartRecord]] | Later:
        return self._streams.popleft() if self._streams else Later.LATER

    def _run_streams(self, tokenizing: Tokenizing) -> None:
        try:
            tokenizing.run(self.workers)
        except BaseException as error:  # it is the answer to all who wait
            self._problem = error
        with self._lock:
            self._has_ended = True
            for asked in self._asked.values():
                asked.end(self._problem)

    def _committed(self, record: PartRecord) -> bool:
        self.committed.append(record)
        self._asked[record.stream].add(record)
        return False

    # Shards

    def make_shard(self, split: str, number: int) -> ShardRecord:
        """Return the record of a shard, after making it if that is missing."""
        with self._lock:
            sharding = self._by_split[split]
        with self._slots:
            return self._shard(sharding, number)

    @cached_property
    def _by_split(self) -> dict[str, Sharding]:
        """The shards of each split. The driver has decided the order of documents before."""
        parts: list[Part] = [
            self._part(PartRecord(**record)) for record in self._work.read_record(PARTS)
        ]
        return {sharding.split: sharding for sharding in self._shardings(parts)}


class _AskedStream:
    """A stream that somebody waits for."""

    def __init__(self, done: list[PartRecord]) -> None:
        self._lock = threading.Lock()
        self._parts = StreamParts(done)
        self.whole: Future[list[PartRecord]] = Future()

    def add(self, record: PartRecord) -> None:
        """Add a part; the last one to come ends the wait."""
        if self._parts.add(record):
            self.end(None)

    def end(self, problem: BaseException | None) -> None:
        """End the wait with what there is, or with an error."""
        with self._lock:
            if self.whole.done():
                return
            if problem is None:
                self.whole.set_result(self._parts.in_order())
            else:
                self.whole.set_exception(problem)
