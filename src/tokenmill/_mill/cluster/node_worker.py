"""What runs on each node: an actor of Ray, which is a plain class here.

It answers several calls at a time, each in a thread of its own. Ray starts it again if its process
dies, and then repeats the calls that had no answer.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill import __version__
from tokenmill._errors import NodeFailed
from tokenmill._mill.cluster.node_run import NodeRun
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.books import Budget
from tokenmill._mill.output.work import Work
from tokenmill._mill.plan.memory import affordable_workers
from tokenmill._mill.progress import peak_memory_mb

if TYPE_CHECKING:
    from tokenmill._mill.output.parts import PartRecord
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._stats import StageTotal, WordCounts
    from tokenmill._tokenizer import Tokenizer


@dataclass(frozen=True)
class NodeOrder:
    """What a node needs to know: the plan, its tokenizer, and where the output is."""

    plan: Plan
    tokenizer: Tokenizer
    output: str  # absolute: workers have other working directories
    memory_limit: int | str | None = None  # of each node
    version: str = __version__


@dataclass(frozen=True)
class NodeFacts:
    """Who answers: a process that is started again has another `life`."""

    host: str
    process: int
    workers: int
    life: str


@dataclass(frozen=True)
class NodeState:
    """What one life of a worker has done so far; `parts` are those after the last question."""

    life: str
    parts: list[PartRecord]
    known: int  # parts that the observer has then
    stages: dict[str, StageTotal]
    words: WordCounts
    packed_tokens: int
    memory_mb: float


class NodeWorker:
    """Does the tasks of a run on one node, with so many threads."""

    def __init__(self, order: NodeOrder, workers: int) -> None:
        self._order = order
        self._workers = workers
        self._life = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._made: NodeRun | None = None

    def prepare(self) -> NodeFacts:
        """Get ready; raise if this node cannot take part."""
        run = self._run()
        return NodeFacts(socket.gethostname(), os.getpid(), run.workers, self._life)

    def tokenize(self, stream: int) -> list[PartRecord]:
        """Return the parts of a stream, after making what is missing of them."""
        return self._run().tokenize(stream)

    def make_shard(self, split: str, number: int) -> ShardRecord:
        """Return the record of a shard, after making it if it is missing."""
        return self._run().make_shard(split, number)

    def state(self, life: str, known: int) -> NodeState:
        """Return what was done; of the parts only those that are new to this life's observer."""
        run = self._run()
        parts = run.committed[known if life == self._life else 0 :]
        stats = run.meter.stats()
        return NodeState(
            self._life,
            parts,
            len(parts) + (known if life == self._life else 0),
            run.meter.totals(),
            stats.words,
            run.meter.packed_tokens,
            peak_memory_mb(),
        )

    def stop(self) -> None:
        """Stop reading streams."""
        if self._made is not None:
            self._made.stop()

    def _run(self) -> NodeRun:
        with self._lock:
            if self._made is None:
                self._made = self._make_run()
            return self._made

    def _make_run(self) -> NodeRun:
        order = self._order
        if order.version != __version__:
            raise NodeFailed(
                f"expected tokenmill {order.version} as on the driver, got {__version__}",
                where=socket.gethostname(),
                hint="install the same version on all nodes",
            )
        rules = order.plan.rules
        count = affordable_workers(
            self._workers,
            order.memory_limit,
            order.tokenizer,
            rules.block_bytes,
            from_store=any(file.tag for file in order.plan.files),
        )
        meter = Meter(total_bytes=order.plan.total_bytes, threads=count)
        run = NodeRun(order.plan, order.tokenizer, Work(Path(order.output)), count, Budget(), meter)
        run.check()
        return run
