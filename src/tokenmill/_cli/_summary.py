"""What a person reads before and after `tokenmill pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._pipeline import Estimate, Manifest, PackResult, Task

_MEGA = 1e6
_INPUTS_SHOWN = 3


def opening(task: Task, output: Path) -> str:
    """Say what was found and chosen."""
    plan, settings = task.plan, task.plan.settings
    names = [file.path for file in plan.files[:_INPUTS_SHOWN]]
    more = len(plan.files) - len(names)
    shown = ", ".join(names) + (f" and {more} more" if more > 0 else "")
    rows = "documents as they are"
    if settings.context_length is not None:
        rows = f"{settings.pack}, rows of {settings.context_length}"
        rows += f" with {settings.overlap} shared" if settings.overlap else ""
    lines = [
        f"inputs      {len(plan.files)} files, {_size(plan.total_bytes)}: {shown}",
        f"tokenizer   {task.tokenizer.name}, ids as {settings.dtype}",
        *task.notes,
        f"packing     {rows}; {', '.join(settings.formats)} -> {output}",
    ]
    return "\n".join(lines)


def closing(result: PackResult, seconds: float) -> str:
    """Say what was done, and that it adds up."""
    manifest = result.manifest
    if result.was_finished:
        return (
            f"\n{manifest.folder} is finished already: {manifest.documents['out']:,} documents, "
            f"{manifest.tokens['out']:,} tokens; nothing to do"
        )
    lines = ["", *_documents(manifest), *_tokens(manifest), *_shards(manifest)]
    meter = result.meter
    read = meter.input_bytes - meter.resumed_bytes
    speed = f"{read / _MEGA / seconds:,.0f} MB/s, " if read else ""
    lines.append(
        f"time        {seconds:.1f} s, {speed}{meter.tokens / _MEGA / seconds:,.1f} M tokens/s, "
        f"peak memory {result.memory_mb:.0f} MB"
    )
    if meter.resumed_bytes:
        lines.append(f"            resumed: {_size(meter.resumed_bytes)} of the input were done")
    lines.append(f"books       balance; manifest in {manifest.folder / 'manifest.json'}")
    return "\n".join(lines)


def facts(manifest: Manifest, seconds: float) -> dict[str, Any]:
    """Return what a program wants to know of a finished output."""
    return {
        "output": str(manifest.folder),
        "plan_id": manifest.plan_id,
        "documents": manifest.documents,
        "tokens": manifest.tokens,
        "shards": len(manifest.shards),
        "seconds": round(seconds, 3),
    }


def rewritten(manifest: Manifest, seconds: float) -> str:
    """Say what convert, reshard or merge has written, and that it adds up."""
    lines = [*_documents(manifest), *_tokens(manifest), *_shards(manifest)]
    lines.append(f"time        {seconds:.1f} s")
    lines.append(f"books       balance; manifest in {manifest.folder / 'manifest.json'}")
    return "\n".join(lines)


def _documents(manifest: Manifest) -> list[str]:
    books = manifest.documents
    lines = [
        f"documents   {books['in']:>15,} in  = {books['out']:,} out + "
        f"{sum(books['skipped'].values()):,} skipped"
    ]
    for reason, count in books["skipped"].items():
        lines.append(f"              {count:>13,} {reason.replace('_', ' ')}")
    for reason, count in books["replaced"].items():
        lines.append(f"              {count:>13,} mended: {reason.replace('_', ' ')}")
    if books["skipped"]:
        lines.append(f"            places and reasons in {manifest.folder / 'quarantine.jsonl'}")
    return lines


def _tokens(manifest: Manifest) -> list[str]:
    books = manifest.tokens
    came = f"{books['in']:>15,} in"
    came += "".join(f" + {books[k]:,} {k}" for k in ("padding", "repeated") if books[k])
    went = f"{books['out']:,} out"
    went += f" + {books['dropped']:,} dropped" if books["dropped"] else ""
    return [f"tokens      {came}  = {went}"]


def _shards(manifest: Manifest) -> list[str]:
    lines = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for shard in manifest.shards:
        groups.setdefault((shard["format"], shard["split"]), []).append(shard)
    for (name, split), shards in groups.items():
        size = sum(file["bytes"] for shard in shards for file in shard["files"])
        rows = sum(shard["rows"] for shard in shards)
        where = manifest.folder / name
        lines.append(
            f"{name:<11} {len(shards):>15,} shards, {rows:,} rows, {_size(size)} "
            f"({split}) in {where}"
        )
    return lines


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def estimate(guess: Estimate) -> str:
    """Say what a run will come to."""
    enough = "enough" if guess.free_bytes > guess.output_bytes + guess.work_bytes else "TOO LITTLE"
    return "\n".join(
        [
            f"spans       {guess.streams:,} streams of {guess.files:,} files",
            f"expected    {guess.documents:,} documents, {guess.tokens:,} tokens, "
            f"{guess.bad_share:.2%} of the records bad",
            f"disk        {_size(guess.output_bytes)} in the end, {_size(guess.work_bytes)} more "
            f"while it works; {_size(guess.free_bytes)} are free: {enough}",
            f"time        about {guess.seconds:.0f} s (from a sample of "
            f"{_size(guess.sample_bytes)})",
        ]
    )


def status(facts: dict[str, Any]) -> str:
    """Say how far a run has come."""
    if facts["state"] == "finished":
        books, tokens = facts["documents"], facts["tokens"]
        return (
            f"finished    {books['out']:,} of {books['in']:,} documents, {tokens['out']:,} tokens, "
            f"{facts['shards']:,} shards"
        )
    share = facts["input_bytes"] / facts["total_bytes"] if facts["total_bytes"] else 0.0
    return "\n".join(
        [
            f"unfinished  {share:.0%} tokenized: {_size(facts['input_bytes'])} of "
            f"{_size(facts['total_bytes'])}, {facts['parts']:,} parts",
            f"so far      {facts['documents']:,} documents, {facts['tokens']:,} tokens, "
            f"{facts['bad']:,} bad records, {facts['shards']:,} shards",
            "            the same `tokenmill pack` command goes on from here",
        ]
    )
