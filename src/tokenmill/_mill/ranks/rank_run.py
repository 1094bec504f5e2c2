"""A run shared by many ranks: claim streams, gather, claim shards, and one of them finishes.

Every task is a pure function of the plan and of what was committed before it, and commits by
renaming. So a task that two ranks do, because one was slow and taken for dead, gives the same bytes
twice. The groups follow each other: a rank continues when all tasks of a group are done.
"""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._errors import OptionError, OutputError, TokenmillError, TooManyBadRecords
from tokenmill._files import FileRecord
from tokenmill._mill.output.books import Books
from tokenmill._mill.output.parts import PartRecord
from tokenmill._mill.output.tables import LineBases, write_documents
from tokenmill._mill.output.work import DOCUMENTS, PLAN, QUARANTINE, as_deliveries
from tokenmill._mill.plan.plan import refuse_another_plan
from tokenmill._mill.ranks.failures import Failures
from tokenmill._mill.ranks.group import Ear, TaskGroup
from tokenmill._mill.ranks.home import open_home
from tokenmill._mill.ranks.place import RankPlace
from tokenmill._mill.ranks.protocol import Claimer
from tokenmill._mill.ranks.rank_heartbeat import RankHeartbeat
from tokenmill._mill.run.no_documents import refuse_no_documents
from tokenmill._mill.run.prefix import FORGIVEN, Prefix
from tokenmill._mill.run.run import SPARES, Run
from tokenmill._mill.run.stream_parts import StreamParts
from tokenmill._mill.run.tokenize import parts_of_stream
from tokenmill._timeline import AWAY, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.output.parts import Part
    from tokenmill._mill.run.shards import Sharding

STREAMS, GATHER, SHARDS, FINISH = "streams", "gather", "shards", "finish"
_PARTS = "parts.json"  # the records of all parts, in order, so that ranks need not read each
_TABLES = (QUARANTINE, DOCUMENTS)  # made like shards, and before them: they take longest
_READERS = 16  # threads that read small records, which a file server sends one by one
_TRIES, _TRY_SECONDS = 10, 0.1


@dataclass
class RankRun(Run):
    """The run of one rank. It ends when the manifest is there, by any rank."""

    place: RankPlace = field(default_factory=lambda: RankPlace(0, 1))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._own_streams = 0
        self._parts_made: dict[int, StreamParts] = {}
        self._seen_streams = 0  # with limits: streams whose parts are in the prefix
        self._others_bytes = 0
        self._bad = 0
        self._is_waiting = False
        self._is_on_time = False  # it has written nothing since it saw no manifest
        self._checked_at = -math.inf

    def finished(self) -> Manifest | None:
        """Return the manifest if this plan is finished; refuse another plan."""
        manifest = super().finished()
        if manifest is not None:
            self._work.sweep(self._settings.formats)
        return manifest

    def start(self) -> None:
        """Write the plan, or compare it with that of the rank that was first."""
        if not all(stream.resumable for stream in self.plan.streams):
            raise OptionError(
                "expected files that all ranks see, got stdin or an iterator", where="rank"
            )
        self._work.refuse_strangers(self._settings.formats)
        with self._unless_finished(OSError):
            if not self._work.create_record(PLAN, self.plan.facts):
                there = self._read_record(PLAN)
                refuse_another_plan(there, self.plan.facts, self._work.where)

    def _read_record(self, name: str) -> Any:
        """Return a record that must be there; it is missing after the end of the run."""
        value = self._work.read_record(name)
        if value is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return value

    @contextmanager
    def _unless_finished(self, *kinds: type[Exception]) -> Iterator[None]:
        """Let errors pass if the manifest is there: a late rank misses what was removed then."""
        try:
            yield
        except _FinishedElsewhereError:
            pass
        except kinds:
            if not self._work.is_finished():
                raise

    def execute(self) -> Manifest:
        """Take part until the manifest is there, and return it."""
        _core.keep_spares(_core.USUAL_SPARES + SPARES * self.workers)
        try:
            with self.meter.worker(), self._unless_finished(Exception):
                try:
                    self._join()
                finally:
                    self._work.stop_deliveries()
        finally:
            _core.keep_spares(_core.USUAL_SPARES)
        if not self._is_on_time:  # a rank that is late may have written what was removed before
            self._clean()
        return self._work.read_manifest()

    def _join(self) -> None:
        home = open_home(self._work)
        self._claims, self._shelf = home.claims, home.parts
        self._ear = Ear(self._claims, self.place.lease)
        self._failures = Failures(self._work, self.place)
        is_finished = self._work.is_finished
        with (
            RankHeartbeat(self._claims, self.place, self._state, is_finished),
            self._unless_finished(Exception),
        ):
            try:
                self._do_all()
            except TokenmillError as error:
                if not is_finished():
                    self._failures.report(error)
                raise

    def _do_all(self) -> None:
        self._tokenize_streams()
        self._do_once(GATHER, self._gather)
        self.meter.phase = "pack"
        self.books = Books()  # gathering has used them
        parts = [self._part(PartRecord(**r)) for r in self._read_record(_PARTS)]
        self.books.enter(part.record for part in parts)
        self._shelf.fetch_order()
        shardings = self._shardings(parts)
        self._make_shards(parts, shardings)
        self._do_once(FINISH, lambda: self._finish_all(shardings))

    def _check(self) -> None:
        """Raise if another rank has finished the run, or has found an error that ends it."""
        if time.monotonic() - self._checked_at < self._claims.least_pause:
            return
        self._checked_at = time.monotonic()
        if self._work.is_finished():
            raise _FinishedElsewhereError
        self._is_on_time = self._is_waiting
        self._failures.check()

    def _group(self, name: str, count: int, *, in_order: bool = False) -> TaskGroup:
        p = self.place
        leases = self._ear.leases
        claimer = Claimer.for_rank(p.owner, count, (p.rank, p.ranks), leases, in_order=in_order)
        return TaskGroup(self._claims, name, claimer, self._ear, self._check)

    def _state(self) -> dict[str, Any]:
        m = self.meter
        return {
            **self.place.facts(),
            "state": m.phase,
            "input_bytes": m.input_bytes - m.resumed_bytes,
            "documents": m.documents,
            "tokens": m.tokens,
            "shards": m.shards,
        }

    def _wait(self, group: TaskGroup, is_over: Callable[[], bool] | None = None) -> None:
        phase, self.meter.phase = self.meter.phase, "wait"
        self._is_waiting = True
        with stage("wait_input"):
            group.wait(is_over)
        self.meter.phase, self._is_waiting, self._is_on_time = phase, False, False

    def _do_once(self, name: str, action: Callable[[], None]) -> None:
        """Let one rank do something, and wait until it is done."""
        group = self._group(name, 1)
        while not group.is_over:
            task = group.take()
            if task is not None:
                action()
                group.finish(task)
            elif not group.is_over:
                self._wait(group, lambda: self._claims.is_done(name, 0))

    # Streams

    def _tokenize_streams(self) -> None:
        group = self._group(STREAMS, len(self.plan.streams), in_order=self._prefix.has_limits)
        while True:
            self._tokenize_all(lambda: self._next_stream(group))
            if group.is_over or self._prefix.is_enough:
                return
            self._wait(group, lambda: self._claims.is_done(GATHER, 0))
            if group.is_over:
                return

    def _next_stream(self, group: TaskGroup) -> tuple[int, list[PartRecord]] | None:
        self._open_group = group
        while True:
            if self._prefix.has_limits and self._limits_are_reached(group):
                return None
            number = group.take()
            self._count_others(group)
            if number is None:
                return None
            done = self._parts_of(number)
            if not (done and done[-1].last):
                self._parts_made[number] = StreamParts(done)
                return number, done
            group.finish(number)

    def _parts_of(self, stream: int) -> list[PartRecord]:
        parts = parts_of_stream(self._shelf.read, stream)
        if not all(record.has_ids for record in parts):
            raise OutputError(
                "a run on a device was stopped here, and kept ids in its memory",
                path=self._work.where,
                hint="run the command once without a rank to finish it, or remove the output",
            )
        return parts

    def _limits_are_reached(self, group: TaskGroup) -> bool:
        """Take the parts of streams that anybody has read to their end, in order."""
        while self._seen_streams < len(self.plan.streams) and group.is_done(self._seen_streams):
            for record in self._parts_of(self._seen_streams):
                self._prefix.add(record)
            self._seen_streams += 1
        return self._prefix.is_enough

    def _count_others(self, group: TaskGroup) -> None:
        """Count what others have read, about, so that the progress is that of the whole."""
        others = max(group.done - self._own_streams, 0)
        size = self.plan.total_bytes * others // max(len(self.plan.streams), 1)
        if size > self._others_bytes:
            new, self._others_bytes = size - self._others_bytes, size
            self.meter.add(input_bytes=new, resumed_bytes=new)

    def _part(self, record: PartRecord) -> Part:
        return self._shelf.part(record, self._settings.dtype)

    def _committed(self, record: PartRecord) -> bool:
        self._shelf.share(record)
        if self._parts_made[record.stream].add(record):
            self._open_group.finish(record.stream)
            self._own_streams += 1
        self._bad += sum(n for reason, n in record.bad.items() if reason not in FORGIVEN)
        if self.budget.count is not None:  # the whole has at least as many; a share is known last
            self.budget.check(self._bad, self.meter.documents + self._bad)
        if self._prefix.has_limits:
            self._prefix.add(record)
        return self._prefix.is_enough

    # What one rank does for all

    def _gather(self) -> None:
        """Put the records of all parts into one file, and the documents in order."""
        self._prefix = Prefix(self.plan)
        streams = range(len(self.plan.streams))
        with ThreadPoolExecutor(_READERS) as pool:
            for parts in pool.map(self._parts_of, streams):
                for record in parts:
                    self._prefix.add(record)
        if not (self._prefix.is_enough or self._prefix.is_complete):
            raise OutputError(
                "a part is missing that a rank has written, or it is cut short",
                path=self._work.where,
                hint="stop all ranks, and run the command once without a rank to repair it",
            )
        taken = [self._part(record) for record in self._prefix.taken]
        self._check_parts(taken)
        if not self._deal_rules().keeps_the_plan:
            self._shelf.fetch_columns(taken)
        self._shardings(taken)  # decides the order of documents, and keeps it
        self._shelf.share_order()
        self._work.write_record(_PARTS, [asdict(part.record) for part in taken])

    def _check_parts(self, parts: list[Part]) -> None:
        try:
            self._check_budget(final=True)
        except TooManyBadRecords:
            self._show_quarantine()
            raise
        refuse_no_documents(parts, self.plan, LineBases(parts, self.plan.streams))

    # Shards

    def _make_shards(self, parts: list[Part], shardings: list[Sharding]) -> None:
        shards = [(s, number) for s in shardings for number in range(s.count)]
        self.meter.total_shards = len(shards)
        self.meter.total_tokens = sum(sharding.tokens for sharding in shardings)
        group = self._group(SHARDS, len(_TABLES) + len(shards))

        is_stopped = threading.Event()

        def work() -> None:
            while not is_stopped.is_set() and (task := group.take()) is not None:
                finish = partial(group.finish, task)
                if task < len(_TABLES):
                    self._make_table(_TABLES[task], parts, finish)
                else:
                    self._make_shard(*shards[task - len(_TABLES)], finish)

        while not group.is_over:
            with stage(AWAY), ThreadPoolExecutor(self.workers) as pool:
                try:
                    for done in [pool.submit(work) for _ in range(self.workers)]:
                        done.result()
                except BaseException:
                    is_stopped.set()
                    raise
            self._work.settle()
            if not group.is_over:
                self._wait(group)

    def _make_shard(self, sharding: Sharding, number: int, then: Callable[[], None]) -> None:
        with self.meter.worker():
            if sharding.record_of(number) is not None:
                then()
            else:
                sharding.make(number, self.meter, then)
        self.meter.add(shards=1)

    def _make_table(self, name: str, parts: list[Part], then: Callable[[], None]) -> None:
        def write() -> None:
            self._work.write_record(f"{name}.json", asdict(record))
            then()

        with self.meter.worker(), stage("write"):
            self._shelf.fetch_columns(parts)
            if name == QUARANTINE:
                record = self._make_quarantine(parts)
            else:
                bases = LineBases((), self.plan.streams)
                record = write_documents(self.output / name, parts, self.plan.files, bases)
            self._work.deliver(as_deliveries([record]), write)

    def _finish_all(self, shardings: list[Sharding]) -> None:
        """Read the records of all shards, check the books, and write the manifest."""
        files = [FileRecord(**self._read_record(f"{name}.json")) for name in _TABLES]
        shards = []
        for sharding in shardings:
            with ThreadPoolExecutor(_READERS) as pool:
                mine = list(pool.map(partial(self._record, sharding), range(sharding.count)))
            self._count_out(sharding, mine)
            shards += mine
        files += self._finish_formats(shards)
        self.books.check()
        self._work.settle()
        self._check()
        self._write_manifest(shards, files)
        raise _FinishedElsewhereError  # nothing is left to mark as done

    def _clean(self) -> None:
        """Remove what was needed during the run; the last heartbeats may come in between."""
        self._work.sweep(self._settings.formats)
        for _ in range(_TRIES):
            self._work.finish()
            if not self._work.folder.exists():
                return
            time.sleep(_TRY_SECONDS)


class _FinishedElsewhereError(Exception):
    """The manifest is there: nothing is left to do."""
