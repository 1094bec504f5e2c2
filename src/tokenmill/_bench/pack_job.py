"""`bench pack`: a whole job in fresh processes, and where its time goes, stage by stage."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokenmill._bench.about import about_run
from tokenmill._bench.clock import slowed, times_of
from tokenmill._bench.measurement import BenchReport, Measurement
from tokenmill._errors import TokenmillError
from tokenmill._platform.processes import children_cpu_seconds
from tokenmill._read import find_inputs
from tokenmill._stats import STAGES, RunStats
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

JOB = "whole job"
_MEGA = 1e6


@dataclass(frozen=True)
class PackRequest:
    """A job: what is packed, and further arguments of `tokenmill pack`."""

    inputs: Sequence[str]
    tokenizer: str | None
    pattern: str | None
    rounds: int
    threads: int
    arguments: Sequence[str] = ()
    folder: str | None = None  # where the output goes for a while


def measure_pack(request: PackRequest, report: Callable[[str], None]) -> BenchReport:
    """Pack the inputs once for each round; every output is removed again."""
    tokenizer = Tokenizer.load(request.tokenizer, pattern=request.pattern)
    about = about_run(tokenizer, request.tokenizer, request.threads)
    files = find_inputs(list(request.inputs)).files
    about["input"] = {
        "origin": ", ".join(request.inputs),
        "files": len(files),
        "bytes": sum(max(file.size, 0) for file in files),
    }
    job = Measurement(JOB, {"stage": ""}, size_bytes=about["input"]["bytes"])
    stages: dict[str, Measurement] = {}
    for number in range(request.rounds):
        report(f"round {number + 1} of {request.rounds}: tokenmill pack")
        facts, seconds, cpu = _pack_once(request)
        _add_job(job, facts, seconds, cpu)
        _add_stages(stages, facts)
    rows = [job, *(stages[name] for name in STAGES if name in stages)]
    _add_shares(rows[1:])
    notes = [] if stages else ["This version of `pack --json` has no stages."]
    return BenchReport("pack", about, rows, notes=notes)


def _pack_once(request: PackRequest) -> tuple[dict[str, Any], float, float]:
    """Return what `pack --json` printed, and the seconds of its process, by clock and by CPU."""
    with TemporaryDirectory(prefix="tokenmill-bench-", dir=request.folder) as folder:
        before = children_cpu_seconds()
        begin = time.perf_counter()
        done = subprocess.run(  # noqa: S603 -- our own command
            _command(request, Path(folder) / "packed"),
            capture_output=True, text=True, check=False, env=dict(os.environ),
        )  # fmt: skip
        seconds = slowed(begin)
        after = children_cpu_seconds()
        if done.returncode != 0:
            printed = done.stderr.strip().splitlines()
            lines = [line for line in printed if not line.startswith("Try `")]
            lines = lines or [f"ended with {done.returncode}"]
            raise TokenmillError(lines[-1].removeprefix("tokenmill: "), where="tokenmill pack")
        facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        facts["checksum"] = _checksum(Path(folder) / "packed" / "manifest.json")
    return facts, seconds, 0.0 if before is None or after is None else after - before


def _checksum(manifest: Path) -> str:
    """Return a hash of the checksums of all shards: of the bytes that a trainer reads."""
    shards = json.loads(manifest.read_text(encoding="utf-8"))["shards"]
    sums = sorted(f"{shard['path']} {shard['checksum']}" for shard in shards)
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()[:16]


def _command(request: PackRequest, output: Path) -> list[str]:
    command = [sys.executable, "-m", "tokenmill", "pack", "--json", "-o", str(output)]
    command += ["--workers", str(request.threads)]
    command += [] if request.tokenizer is None else ["-t", request.tokenizer]
    command += [] if request.pattern is None else ["--pattern", request.pattern]
    return [*command, *request.arguments, "--", *request.inputs]


def _add_job(job: Measurement, facts: dict[str, Any], seconds: float, cpu: float) -> None:
    job.texts, job.tokens = facts["documents"]["out"], facts["tokens"]["out"]
    if job.ids not in ("", facts["checksum"]):
        raise TokenmillError("two runs wrote different files: has an input changed?", where=JOB)
    job.ids = facts["checksum"]
    peak = facts["memory_mb"] * _MEGA / 2**20
    job.samples.append(times_of([seconds], seconds, cpu, first_cpu_seconds=cpu, peak_mib=peak))


def _add_shares(stages: Sequence[Measurement]) -> None:
    total = sum(row.seconds.value for row in stages) or 1.0
    for row in stages:
        row.labels["share"] = f"{row.seconds.value / total:.1%}"


def _add_stages(stages: dict[str, Measurement], facts: dict[str, Any]) -> None:
    """Take the stages of a run, whose seconds are those of all threads together."""
    if not facts.get("stats"):
        return
    stats = RunStats.from_json(facts["stats"])
    for name, total in stats.stages.items():
        labels = {"stage": name, "threads": stats.threads}
        row = stages.setdefault(name, Measurement(name, labels, texts=0, is_part=True))
        row.size_bytes = total.bytes
        row.samples.append(times_of([total.seconds], total.seconds, total.seconds))
