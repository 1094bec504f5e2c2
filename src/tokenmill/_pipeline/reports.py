"""How far a run has come, from its records alone; and what a run would do, before it begins."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import SourceNotFound
from tokenmill._pipeline.encode import BlockEncoder
from tokenmill._pipeline.manifest import Manifest
from tokenmill._pipeline.meter import Meter
from tokenmill._pipeline.parts import PartRecord
from tokenmill._pipeline.work import Work, read_json, records
from tokenmill._read import open_stream

if TYPE_CHECKING:
    import os

    from tokenmill._pipeline.plan import Plan
    from tokenmill._pipeline.prepare import Task

_SAMPLES = 8


def status(output: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is done of a run: its state, and the counts of its records so far."""
    work = Work(Path(output))
    if work.manifest.exists():
        manifest = Manifest.load(output)
        return {
            "state": "finished",
            "documents": manifest.documents,
            "tokens": manifest.tokens,
            "shards": len(manifest.shards),
        }
    if not work.plan.exists():
        raise SourceNotFound("no run has begun here", source=str(output))
    facts = read_json(work.plan)
    parts = [PartRecord(**value) for value in records(work.parts)]
    total = sum(max(entry["size"], 0) for entry in facts["inputs"])
    return {
        "state": "unfinished",
        "input_bytes": sum(part.input_bytes for part in parts),
        "total_bytes": total,
        "parts": len(parts),
        "documents": sum(part.documents for part in parts),
        "tokens": sum(part.tokens for part in parts),
        "bad": sum(sum(part.bad.values()) for part in parts),
        "shards": sum(1 for _ in records(work.shards)),
    }


@dataclass(frozen=True)
class Estimate:
    """What a run will come to, from a sample of its inputs."""

    files: int
    streams: int
    input_bytes: int
    documents: int
    tokens: int
    output_bytes: int
    work_bytes: int
    free_bytes: int
    seconds: float
    sample_bytes: int
    bad_share: float


def estimate(task: Task, output: Path, workers: int) -> Estimate:
    """Tokenize the first block of some streams and reckon from there."""
    plan, meter = task.plan, Meter()
    encoder = BlockEncoder(
        task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, meter
    )
    step = max(1, len(plan.streams) // _SAMPLES)
    for stream in plan.streams[::step][:_SAMPLES]:
        if stream.resumable:  # the others can be read only once
            _sample(plan, encoder, stream)
    share = plan.total_bytes / meter.input_bytes if meter.input_bytes else 0.0
    item = 2 if plan.settings.dtype == "uint16" else 4
    tokens, documents = int(meter.tokens * share), int(meter.documents * share)
    tokens = min(tokens, plan.settings.max_tokens or tokens)
    busy = sum(meter.stages.values())
    return Estimate(
        files=len(plan.files),
        streams=len(plan.streams),
        input_bytes=plan.total_bytes,
        documents=documents,
        tokens=tokens,
        output_bytes=tokens * item * len(plan.settings.formats) + documents * 24,
        work_bytes=tokens * item + documents * 32,
        free_bytes=shutil.disk_usage(_existing(output)).free,
        seconds=busy * share / workers,
        sample_bytes=meter.input_bytes,
        bad_share=meter.bad / max(meter.bad + meter.documents, 1),
    )


def _sample(plan: Plan, encoder: BlockEncoder, stream: Any) -> None:  # noqa: ANN401
    reader = open_stream(stream, plan.files, plan.rules, plan.fields)
    try:
        raw = reader.read()
        if raw is not None:
            encoder(raw)
    finally:
        reader.close()


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
