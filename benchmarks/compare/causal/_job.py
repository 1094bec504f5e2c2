"""What the jobs of this folder share: the request, a clock for each step, the facts."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[dict[str, Any], Path, "Clock"], None]


class Clock:
    """Seconds of the steps of a job: `load` the texts, make `rows`, `save` them."""

    def __init__(self) -> None:
        self.seconds = {"load": 0.0, "rows": 0.0, "save": 0.0}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block inside."""
        begin = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - begin


def serve(work: Work, *packages: str) -> None:
    """Do the job on stdin; rows go to `output/rows`, measurements to `output/job.json`."""
    job = json.load(sys.stdin)
    output = Path(job["output"])
    output.mkdir(parents=True)
    clock = Clock()
    work(job, output / "rows", clock)
    facts = {f"{name}_seconds": seconds for name, seconds in clock.seconds.items()}
    versions = {name: _version(name) for name in packages}
    (output / "job.json").write_text(json.dumps({**facts, "versions": versions}))


def save(rows: Any, path: Path, kind: str) -> None:
    """Write a dataset as its own Arrow files, or as one Parquet file."""
    if kind == "arrow":
        rows.save_to_disk(str(path))
        return
    path.mkdir()
    rows.to_parquet(str(path / "rows.parquet"))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # not installed
        return "unknown"
