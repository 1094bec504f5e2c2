"""The progress of a run, read from its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import SourceNotFound
from tokenmill._mill.output.manifest import Manifest
from tokenmill._mill.output.parts import PartRecord
from tokenmill._mill.output.work import Work, read_json, records

if TYPE_CHECKING:
    import os


def status(output: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the state of a run, and the counts of its records so far."""
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
        raise SourceNotFound("no run has started here", source=str(output))
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
