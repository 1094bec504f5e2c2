"""What a number of ranks would take: the sizes of a plan, a rate, and a simulated run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._mill.plan.sizes import stream_sizes
from tokenmill._mill.ranks.place import LEASE_SECONDS
from tokenmill._mill.ranks.rank_run import FINISH, GATHER, SHARDS, STREAMS
from tokenmill._mill.ranks.simulation import Simulation, TaskCosts
from tokenmill._mill.run.feed import PART_BYTES
from tokenmill._read import text_size

if TYPE_CHECKING:
    from tokenmill._mill.plan.plan import Plan

# What a worker reads and writes in a second of packing, and what a small record takes on a file
# server if 16 threads read them. Both are rough, and small compared with tokenizing.
_PACKED_BYTES = 400e6
_RECORD_SECONDS = 0.0005 / 16


@dataclass(frozen=True)
class Load:
    """What a run will read and write, in bytes; `rate` is what a worker reads in a second."""

    rate: float
    tokens: int
    work_bytes: int
    output_bytes: int


@dataclass(frozen=True)
class Forecast:
    """How long some ranks will take. `busy` is the work of each rank, in seconds."""

    ranks: int
    seconds: float
    tokenize_seconds: float
    busy_mean: float
    busy_most: float
    read_bytes: int
    written_bytes: int
    requests: int
    listed_names: int  # a store shows a thousand of them by one more request
    lost_seconds: float  # the most work of a worker that a dead rank loses
    noticed_seconds: float  # how long the work of a dead rank waits if all others are idle

    @property
    def skew(self) -> float:
        """How much longer the busiest rank works than the average one, as a share."""
        return self.busy_most / self.busy_mean - 1 if self.busy_mean else 0.0


def forecast(
    plan: Plan, load: Load, ranks: int, workers: int, lease: float | None = None
) -> Forecast:
    """Simulate a run without faults, of ranks with this many workers each."""
    speed = max(load.rate, 1.0) * workers
    seconds = [size / speed for size in stream_sizes(plan, lambda file: max(file.size, 0))]
    commits = [max(1, round(size / PART_BYTES)) for size in stream_sizes(plan, text_size)]
    shards = max(1, -(-load.tokens // plan.settings.shard_tokens))
    moved = load.work_bytes + load.output_bytes
    packing = moved / (_PACKED_BYTES * workers)
    length = LEASE_SECONDS if lease is None else lease
    run = Simulation(
        {
            STREAMS: TaskCosts(seconds, commits),
            GATHER: TaskCosts([sum(commits) * _RECORD_SECONDS]),
            SHARDS: TaskCosts([packing / shards] * shards),
            FINISH: TaskCosts([shards * _RECORD_SECONDS]),
        },
        ranks,
        lease=length,
    ).run()
    parts = [second / count for second, count in zip(seconds, commits, strict=True)]
    return Forecast(
        ranks=ranks,
        seconds=run.seconds,
        tokenize_seconds=run.ends.get(STREAMS, 0.0),
        busy_mean=sum(run.busy) / ranks,
        busy_most=max(run.busy),
        read_bytes=plan.total_bytes + load.work_bytes,
        written_bytes=moved,
        requests=sum(run.requests.values()),
        listed_names=run.listed_names,
        lost_seconds=max(parts, default=0.0) * workers,
        noticed_seconds=length,
    )
