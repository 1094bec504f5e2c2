"""The run of the driver: it plans, orders, counts and finishes; nodes make parts and shards.

It is a plain run in which two steps happen elsewhere. Counts are those of parts that are committed.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError
from tokenmill._mill.cluster.crew import Crew
from tokenmill._mill.cluster.handout import ClusterTask, by_size
from tokenmill._mill.cluster.node_run import PARTS
from tokenmill._mill.cluster.node_worker import NodeOrder
from tokenmill._mill.cluster.ray_cluster import RayCluster
from tokenmill._mill.plan.sizes import stream_sizes
from tokenmill._mill.run.run import Run
from tokenmill._read import text_size
from tokenmill._timeline import AWAY, stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from tokenmill._mill.cluster.engine import RayEngine
    from tokenmill._mill.cluster.node_worker import NodeState
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.output.parts import Part, PartRecord
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.run.run import ShardToCome
    from tokenmill._mill.run.shards import Sharding
    from tokenmill._mill.run.tokenize import NextStream

_TOKENIZE, _MAKE_SHARD = "tokenize", "make_shard"


@dataclass
class ClusterRun(Run):
    """One run of a plan by the nodes of a cluster."""

    engine: RayEngine = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._early.shards = None  # nodes would need all parts before each shard
        self._known: set[tuple[int, int]] = set()  # parts, by stream
        self._parts_of: dict[int, int] = {}  # how many of them a stream has
        self._home: dict[int, str] = {}  # the node that has finished a stream
        self._made: dict[tuple[str, int], ShardRecord] = {}
        self._packed: dict[str, int] = {}  # tokens, by the life of a worker

    def finished(self) -> Manifest | None:
        """Return the manifest if this plan is finished; refuse another plan."""
        manifest = super().finished()
        if manifest is not None:  # a node that was cut off may have written since
            self._work.sweep(self._settings.formats)
        return manifest

    def start(self) -> None:
        """Write the plan, connect to the cluster, and wait for its first worker."""
        if any(not s.resumable for s in self.plan.streams) or any(
            file.data is not None for file in self.plan.files
        ):
            raise OptionError(
                "nodes read files that all of them see, got stdin, an iterator or a dataset",
                where="engine",
            )
        super().start()
        began = time.perf_counter()
        order = NodeOrder(
            self.plan, self.tokenizer, str(self.output.resolve()), self.engine.memory_limit
        )
        self._crew = Crew(RayCluster(self.engine.address), order, self.engine.workers, self)
        try:
            self._crew.wait_for_workers()
        except BaseException:
            self._crew.close()
            raise
        self.workers = self.meter.threads = self._crew.workers
        self.engine.start_seconds = time.perf_counter() - began
        self.meter.began = time.perf_counter()

    def execute(self) -> Manifest:
        """Do everything that is missing, and return the manifest."""
        try:
            manifest = super().execute()
            self._crew.hear_last()
            return manifest
        finally:
            ended = time.perf_counter()
            self.engine.note(self._crew.hosts.values(), self._crew.lost)
            self._crew.close()
            self._work.sweep(self._settings.formats)  # what killed workers have left
            self.meter.began += time.perf_counter() - ended  # leaving Ray is not in the run

    # Streams

    def _tokenize_all(self, next_stream: NextStream) -> None:
        numbers = []
        while isinstance(found := next_stream(), tuple):
            numbers.append(found[0])
            self._parts_of[found[0]] = len(found[1])
            self._known.update((record.stream, record.part) for record in found[1])
        if not self._prefix.has_limits:
            numbers = by_size(numbers, stream_sizes(self.plan, text_size))
        crew = self._crew
        crew.give(ClusterTask(_TOKENIZE, (number,)) for number in numbers)
        with stage(AWAY):
            while crew.pending and not self._prefix.is_enough:
                crew.step()
            if crew.pending:
                crew.stop_tasks()

    def _know(self, records: Iterable[PartRecord]) -> None:
        """Count parts that are committed, each once."""
        for record in records:
            if (record.stream, record.part) in self._known:
                continue
            self._known.add((record.stream, record.part))
            self._parts_of[record.stream] = self._parts_of.get(record.stream, 0) + 1
            self.meter.add(
                input_bytes=record.input_bytes, documents=record.documents, tokens=record.tokens
            )
            self.meter.add_bad(record.bad)
            self._committed(record)
        self._early.follow()

    # Shards

    def _begin_shards(
        self, pool: ThreadPoolExecutor, parts: list[Part], shardings: list[Sharding]
    ) -> Sequence[ShardToCome]:
        del pool
        self._work.write_record(PARTS, [asdict(part.record) for part in parts])
        shards = [(s, number) for s in shardings for number in range(s.count)]
        homes = self._homes(parts, shardings)
        self._crew.give(
            ClusterTask(_MAKE_SHARD, (s.split, number), homes.get((s.split, number), ""))
            for s, number in shards
        )
        return [_PendingShard(self, (s.split, number)) for s, number in shards]

    def _homes(self, parts: list[Part], shardings: list[Sharding]) -> dict[tuple[str, int], str]:
        """Return which node has written the parts of a shard, and may have them in its memory.

        Only if documents keep their order: otherwise a shard needs all parts.
        """
        if not self._deal_rules().keeps_the_plan:
            return {}
        ends = np.cumsum([part.record.tokens for part in parts])
        homes = {}
        for sharding in shardings:
            for number in range(sharding.count):
                first = int(np.searchsorted(ends, sharding.first_token(number), side="right"))
                if first < len(parts):
                    home = self._home.get(parts[first].record.stream, "")
                    homes[sharding.split, number] = home
        return homes

    def shard_record(self, shard: tuple[str, int]) -> ShardRecord:
        """Return the record of a shard as soon as it is made."""
        while shard not in self._made:
            self._crew.step()
        return self._made[shard]

    # What the crew tells

    def task_done(self, task: ClusterTask, node: str, value: Any) -> None:
        """Take the parts of a stream, or the record of a shard."""
        if task.method == _TOKENIZE:
            self._home[task.arguments[0]] = node
            self._know(value)
        else:
            self._made[task.arguments] = value
            self.meter.add(shards=1)

    def told(self, state: NodeState) -> None:
        """Take the counters of a worker."""
        meter = self.meter
        self._know(state.parts)
        meter.hear(state.life, state.stages, state.words)
        meter.threads = max(meter.threads, self._crew.workers)
        self._packed[state.life] = state.packed_tokens
        meter.packed_tokens = min(sum(self._packed.values()), meter.total_tokens)
        self.engine.memory_mb = max(self.engine.memory_mb, state.memory_mb)

    def progress_of(self, task: ClusterTask) -> int:
        """Return how many parts a stream has."""
        return self._parts_of.get(task.arguments[0], 0) if task.method == _TOKENIZE else 0


@dataclass(frozen=True)
class _PendingShard:
    run: ClusterRun
    shard: tuple[str, int]

    def result(self) -> ShardRecord:
        return self.run.shard_record(self.shard)
