"""One request -> the report of a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORKER = "tokenmill._bench.worker"


def run_process(
    body: Mapping[str, Any], threads: int, *, where: str, hint: str = "", python: str | None = None
) -> dict[str, Any]:
    """Answer a request in a fresh process, of another interpreter if one is named."""
    done = subprocess.run(  # noqa: S603 -- our own module
        [python or sys.executable, "-m", _WORKER],
        input=json.dumps(body),
        capture_output=True,
        text=True,
        check=False,
        env=_environment(threads),
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        last = f": {lines[-1][:200]}" if lines else ""
        problem = f"its process ended with {done.returncode}{last}"
        raise TokenmillError(problem, where=where, hint=hint)
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def _environment(threads: int) -> dict[str, str]:
    """Give every library the same number of threads."""
    count = str(threads)
    return {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",  # numpy's threads spin for a while, and nothing uses them
        "RAYON_NUM_THREADS": count,
        "RAYON_RS_NUM_THREADS": count,
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "TOKENMILL_THREADS": count,
    }
