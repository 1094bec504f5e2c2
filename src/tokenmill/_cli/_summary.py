"""What a person reads before and after `pack`, `pretokenize`, `convert`, `reshard` and `merge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._cli._accounts import document_lines, shard_lines, token_lines
from tokenmill._cli._lines import WIDTH, counted, line, listed, note
from tokenmill._numbers import duration, rate, size

if TYPE_CHECKING:
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.pack import PackResult
    from tokenmill._mill.plan.task import Task

_LEAST = 1e-3  # seconds of work
_MEGA = 1e6
_MUCH = 0.1  # of a run's time
_SOON = 0.1  # seconds


def opening(task: Task, output: object) -> str:
    """List what was found and chosen."""
    plan, settings = task.plan, task.plan.settings
    total = size(plan.total_bytes) if plan.total_bytes else "size unknown"
    files = note("inputs", f"{counted(len(plan.files), 'file')}, {total}: ")
    rows = "documents as they are"
    if settings.context_length is not None:
        rows = f"{settings.pack}, rows of {settings.context_length:,}"
        rows += f", {settings.overlap:,} of them shared" if settings.overlap else ""
    lines = [
        files + listed([file.path for file in plan.files], WIDTH - len(files)),
        note("tokenizer", f"{task.tokenizer.name}, ids as {settings.dtype}"),
        *task.notes,
        note("packing", f"{rows}, as {', '.join(settings.formats)} -> {output}"),
    ]
    return "\n".join(lines)


def closing(result: PackResult, seconds: float) -> str:
    """Report what was done, with accounts that add up."""
    manifest = result.manifest
    if result.was_finished:
        return (
            f"\n{manifest.where} is already finished: "
            f"{counted(manifest.documents['out'], 'document')}, "
            f"{counted(manifest.tokens['out'], 'token')}, "
            f"{counted(len(manifest.shards), 'shard')}; "
            "nothing to do"
        )
    accounts = [*document_lines(manifest), *token_lines(manifest), *shard_lines(manifest)]
    return "\n".join(["", *accounts, *_run_lines(result, seconds), _books_line(manifest)])


def rewritten(manifest: Manifest, seconds: float) -> str:
    """Report what convert, reshard or merge has written."""
    accounts = [*document_lines(manifest), *token_lines(manifest), *shard_lines(manifest)]
    time = line("time", duration(seconds), "nothing was tokenized")
    return "\n".join([*accounts, time, _books_line(manifest)])


def facts(manifest: Manifest, seconds: float) -> dict[str, Any]:
    """Return what a program wants to know about a finished output."""
    return {
        "output": manifest.where,
        "plan_id": manifest.plan_id,
        "documents": manifest.documents,
        "tokens": manifest.tokens,
        "shards": len(manifest.shards),
        "seconds": round(seconds, 3),
    }


def rewrite_facts(manifest: Manifest, seconds: float) -> dict[str, Any]:
    """Return the same about convert, reshard and merge, and their counters."""
    stats = manifest.stats
    return {**facts(manifest, seconds), "stats": None if stats is None else stats.as_json()}


def run_facts(result: PackResult, seconds: float) -> dict[str, Any]:
    """Return the same about a run that has just ended, and how it ran."""
    shards = result.manifest.shards
    first = shards[0]["format"] if shards else None  # other formats hold the same rows again
    return {
        **facts(result.manifest, seconds),
        "rows": sum(shard["rows"] for shard in shards if shard["format"] == first),
        "memory_mb": result.memory_mb,
        "device": result.device.name,
        "device_note": result.device.note,
        "engine": _engine_facts(result),
        "requests": result.requests.as_json(),
        "stats": None if result.manifest.stats is None else result.manifest.stats.as_json(),
    }


def _engine_facts(result: PackResult) -> dict[str, Any] | None:
    ray = result.engine
    if ray is None:
        return None
    return {
        "name": "ray",
        "nodes": ray.nodes,
        "workers": ray.threads,
        "lost_workers": ray.lost,
        "start_seconds": round(ray.start_seconds, 3),
    }


def _books_line(manifest: Manifest) -> str:
    return line("books", "balance", f"{manifest.where}/manifest.json")


def _run_lines(result: PackResult, seconds: float) -> list[str]:
    meter = result.meter
    lines = []
    place = result.place
    if place is not None:
        own = size(meter.input_bytes - meter.resumed_bytes)
        read = f"of {place.ranks:,}: read {own} of {size(meter.total_bytes)} of input"
        lines.append(line("rank", f"{place.rank}", read))
    elif meter.resumed_bytes:
        resumed = f"of {size(meter.total_bytes)} of input were done by an earlier run"
        lines.append(line("resumed", size(meter.resumed_bytes), resumed))
    if (ray := result.engine) is not None:
        lost = f", {counted(ray.lost, 'worker')} lost" if ray.lost else ""
        ready = f"{counted(ray.threads, 'worker')}, ready after {duration(ray.start_seconds)}{lost}"
        lines.append(line("ray", counted(ray.nodes, "node"), ready))
    if result.device.note:
        lines.append(line("device", result.device.name, result.device.note))
    lines.append(line("time", duration(seconds), ", ".join(_speeds(meter))))
    if remarks := _remarks(meter, seconds):
        lines.append(line("", "", ", ".join(remarks)))
    lines.append(line("memory", f"{result.memory_mb:,.0f} MB", "peak"))
    lines += _request_lines(result)
    return lines


def _request_lines(result: PackResult) -> list[str]:
    """Return what was asked of object stores, if anything was."""
    made = result.requests
    if not made.requests:
        return []
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(made.requests.items()))
    again = sum(made.repeated.values())
    moved = f"{size(made.bytes_out)} sent, {size(made.bytes_in)} received"
    words = [kinds, moved, *([f"{again:,} repeated"] if again else [])]
    return [line("requests", f"{sum(made.requests.values()):,}", "; ".join(words))]


def _speeds(meter: Meter) -> list[str]:
    """Return how fast the run was once it had started, without what an earlier run did."""
    seconds = max(meter.seconds, _LEAST)
    new_bytes = meter.input_bytes - meter.resumed_bytes
    words = [
        f"{rate((meter.documents - meter.resumed_documents) / seconds)} documents/s",
        f"{rate((meter.tokens - meter.resumed_tokens) / seconds)} tokens/s",
    ]
    if new_bytes:  # the size of a dataset in memory or on the hub is unknown
        words.append(f"{rate(new_bytes / _MEGA / seconds)} MB/s")
    return words


def _remarks(meter: Meter, seconds: float) -> list[str]:
    """Return what took most of the time, and a start that took long."""
    from tokenmill._stats import mostly

    before = seconds - max(meter.seconds, _LEAST)
    is_slow = before > max(_SOON, _MUCH * seconds)
    words = [mostly(meter.bottleneck()), f"{duration(before)} to start" if is_slow else ""]
    return [word for word in words if word]
