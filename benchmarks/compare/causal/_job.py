"""What the jobs of this folder share: the request, the clock behind the imports, the facts."""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def serve(work: Callable[[dict[str, Any], Path], Any], *packages: str) -> None:
    """Do the job on stdin; rows go to `output/rows`, what was measured to `output/job.json`."""
    job = json.load(sys.stdin)
    output = Path(job["output"])
    output.mkdir(parents=True)
    begin = time.perf_counter()
    work(job, output / "rows")
    seconds = time.perf_counter() - begin
    facts = {"job_seconds": seconds, "versions": {name: _version(name) for name in packages}}
    (output / "job.json").write_text(json.dumps(facts))


def save(rows: Any, path: Path, kind: str) -> None:  # noqa: ANN401  datasets has no types
    """Write a dataset as its own Arrow files, or as one Parquet file."""
    if kind == "arrow":
        rows.save_to_disk(str(path))
        return
    path.mkdir()
    rows.to_parquet(str(path / "rows.parquet"))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # used without being installed
        return "unknown"
