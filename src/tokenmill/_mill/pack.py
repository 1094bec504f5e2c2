"""`pack`: inputs and options as people write them -> a plan -> a run -> the manifest."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._checks import whole_number
from tokenmill._config import configured
from tokenmill._errors import OptionError
from tokenmill._machine.memory import available_bytes
from tokenmill._mill.cluster.engine import RayEngine, read_engine
from tokenmill._mill.device.choose import CPU, Device, choose_device
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.books import Budget
from tokenmill._mill.output.open_work import open_work
from tokenmill._mill.plan.memory import affordable_workers, worker_count
from tokenmill._mill.plan.task import Task, prepare_task
from tokenmill._mill.progress import Progress, peak_memory_mb
from tokenmill._mill.ranks.place import RankPlace, read_place
from tokenmill._mill.ranks.rank_run import RankRun
from tokenmill._mill.recording import RunRecorder
from tokenmill._mill.run.read_ahead import ReadAhead
from tokenmill._mill.run.run import Run
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.exporters import exporters
from tokenmill._mill.watch.heartbeat import Heartbeat, heartbeats_of
from tokenmill._mill.watch.outlook import Goals
from tokenmill._stats import owners_of
from tokenmill._store import RequestCounts, is_address, request_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.plan.options import PackOptions


# Ids for each worker that wait in memory for their shards, if a device makes them. It makes them
# faster than files are written, and makes them again in no time if the run is interrupted. A worker
# that writes a shard needs all its ids, about 128 MiB, and those of later shards wait meanwhile.
KEPT_BYTES = 256 << 20
_SHARE_OF_MEMORY = 4  # of what is available, at most one part in so many


def pack(
    inputs: Any,  # paths, globs, folders, URLs, datasets, sources
    *,
    output: str | os.PathLike[str],
    tokenizer: object = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: Literal["auto", "bar", "plain", "json", "none"] = "none",
    device: str | None = None,
    metrics: str | os.PathLike[str] | None = None,
    otlp: str | None = None,
    rank: int | str | None = None,
    ranks: int | None = None,
    lease: float | None = None,
    engine: Literal["local", "ray"] | None = None,
    address: str | None = None,
    work: str | os.PathLike[str] | None = None,
    **options: Unpack[PackOptions],
) -> Manifest:
    """Tokenize and pack inputs into shards below `output`; the same call again resumes.

    `inputs`: files, globs, folders, "-", URLs, datasets, or sources with weights and caps.
    `output`: a folder, or "s3://bucket/packed"; `work` is then a folder for what is not uploaded.
    `tokenizer`: anything `Tokenizer.load` takes, or a Tokenizer; None is the built-in one.
    `workers`, `memory_limit` ("2GB"), `max_bad` (a count or "0.1%"), `progress` and `device` never
    change a byte. `device` is what tokenizes: "cpu", "cuda", "cuda:1", "cuda:0,cuda:1", "cuda:all",
    or "auto" for the faster of CPU and GPU; None is what TOKENMILL_CONFIG says, else "cpu".
    `force` starts over. `metrics` is a file for Prometheus, written every second; `otlp` is the URL
    of a collector, if no OTEL_ variable names one. `rank` of `ranks` is for many processes that
    share one output: each does what no other has claimed, and returns when all is done; "auto" is
    the rank that Slurm or Kubernetes gives. A rank that is silent for `lease` seconds (120) is
    taken for dead, and others do its work. `engine` "ray" lets a Ray cluster do the work, at
    `address`, or as RAY_ADDRESS or an earlier `ray.init` says; `workers` and `memory_limit` are
    then those of each node. The other options decide the bytes; PackOptions lists them.

    Raises BadRecordFound if the inputs have records and none of them holds a document.
    """
    task = prepare_task(
        inputs, tokenizer=tokenizer, memory_limit=memory_limit, output=output, **options
    )
    return pack_task(
        task,
        output=output,
        workers=workers,
        memory_limit=memory_limit,
        max_bad=max_bad,
        force=force,
        progress=progress,
        device=device,
        metrics=metrics,
        otlp=otlp,
        rank=rank,
        ranks=ranks,
        lease=lease,
        engine=engine,
        address=address,
        work=work,
    ).manifest


@dataclass(frozen=True)
class PackResult:
    """The result of a run: its manifest, its counters, and whether it was finished before."""

    manifest: Manifest
    meter: Meter
    was_finished: bool
    memory_mb: float
    device: Device = CPU
    place: RankPlace | None = None  # if it was one of many ranks
    engine: RayEngine | None = None  # if Ray ran the tasks
    requests: RequestCounts = field(default_factory=RequestCounts)  # to object stores


def pack_task(
    task: Task,
    *,
    output: str | os.PathLike[str],
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: str = "none",
    device: str | None = None,
    read_ahead: int = 0,
    metrics: str | os.PathLike[str] | None = None,
    otlp: str | None = None,
    rank: int | str | None = None,
    ranks: int | None = None,
    lease: float | None = None,
    engine: str | None = None,
    address: str | None = None,
    work: str | os.PathLike[str] | None = None,
) -> PackResult:
    """Run a plan, or what is missing of it.

    `read_ahead` files are requested from the disk before their turn; this never changes a byte.
    """
    place = _place(rank, ranks, lease, force=force)
    asked = (configured().device or "cpu") if device is None else device
    limits = (workers, memory_limit)
    ray = read_engine(engine, address, limits, device=asked, rank=rank, output=output)
    recorder = RunRecorder(worker_count(workers), asked)
    count = _count_workers(task, limits, output)
    chosen = choose_device(asked if ray is None else "cpu", task, count)
    meter = Meter(total_bytes=task.plan.total_bytes, threads=count)
    staging = open_work(output, work, owner=None if place is None else place.owner)
    run = _kind_of_run(place, ray)(
        task.plan,
        task.tokenizer,
        staging,
        count,
        parse_budget(max_bad),
        meter,
        tokenizer_source=task.tokenizer_source,
        device=chosen.encoder,
        ahead=ReadAhead(task.plan, whole_number("read_ahead", read_ahead, least=0)),
        keep_bytes=kept_room(chosen, memory_limit, count) if place is None else 0,
    )
    with staging.locked(shared=place is not None):
        if force:
            staging.clear()
        manifest = run.finished()
        was_finished = manifest is not None
        if manifest is None:
            run.start()
            # Ranks have heartbeats of their own, next to their claims.
            files = heartbeats_of(staging) if place is None else []
            manifest = _watched(run, task, [*files, *exporters(metrics, otlp)], progress)
    memory = max(peak_memory_mb(), 0.0 if ray is None else ray.memory_mb)
    requests = request_counts().since(task.requests_before)
    result = PackResult(manifest, meter, was_finished, memory, chosen, place, ray, requests)
    recorder.note(task, result, memory_limit=memory_limit)
    return result


def _count_workers(
    task: Task, limits: tuple[int | None, int | str | None], output: str | os.PathLike[str]
) -> int:
    return affordable_workers(
        *limits,
        task.tokenizer,
        task.plan.rules.block_bytes,
        from_store=any(file.tag for file in task.plan.files),
        to_store=is_address(os.fspath(output)),
    )


def _kind_of_run(place: RankPlace | None, ray: RayEngine | None) -> Callable[..., Run]:
    if ray is not None:
        from tokenmill._mill.cluster.cluster_run import ClusterRun  # few runs need it

        return partial(ClusterRun, engine=ray)
    return Run if place is None else partial(RankRun, place=place)


def _watched(run: Run, task: Task, listeners: list[Any], progress: str) -> Manifest:
    """Do what is missing, seen by those who listen; return the manifest with its counters."""
    meter, where = run.meter, {"output": run.work.where}
    pulse = Pulse(meter, Goals.of(task.plan), run.workers, where, task.tokenizer)
    with Heartbeat(pulse, listeners), Progress(meter, progress):
        manifest = run.execute()
    meter.end(owners_of(task.tokenizer.memory()))
    return replace(manifest, stats=meter.stats())


def _place(
    rank: int | str | None, ranks: int | None, lease: float | None, *, force: bool
) -> RankPlace | None:
    place = read_place(rank, ranks, lease)
    if place is not None and force:
        raise OptionError(
            "one rank cannot start over while others work, got both",
            where="force",
            hint="run the command once without a rank, or remove the output",
        )
    return place


def kept_room(device: Device, memory_limit: int | str | None, workers: int) -> int:
    """Return how many bytes of ids may wait in memory for their shards, instead of in files."""
    if device.encoder is None or memory_limit is not None:
        return 0
    return min(workers * KEPT_BYTES, available_bytes() // _SHARE_OF_MEMORY)


def parse_budget(max_bad: int | float | str | None) -> Budget:
    """Read an error budget: None, a count, a share below 1, or text such as "0.1%"."""
    if max_bad is None:
        return Budget()
    text = str(max_bad).strip()
    try:
        if text.endswith("%"):
            return Budget(share=_between(float(text[:-1]) / 100))
        if isinstance(max_bad, float) or "." in text:
            return Budget(share=_between(float(text)))
        if int(text) >= 0:
            return Budget(count=int(text))
    except ValueError:
        pass
    raise OptionError(
        f"expected a count such as 100 or a share such as 0.1%, got {max_bad!r}", where="max_bad"
    )


def _between(share: float) -> float:
    if not 0 <= share <= 1:
        raise ValueError
    return share
