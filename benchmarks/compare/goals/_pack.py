"""The whole job: against gigatoken, compressed files and tables, best-fit against concat."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from _driver import progress
from _texts import corpus_files, read_text
from benchmarks.compare.goals._rows import Goal, ratio_goal
from benchmarks.compare.pack._jobs import READER, Runner, make_files, read_tokenizer
from benchmarks.compare.pack._meter import measure
from benchmarks.compare.pack._speed import open_corpus, time_kind

OURS, THEIRS = "tokenmill", "gigatoken"
EOS = "<|endoftext|>"
THREADS = 2
CONTEXT = "2048"
JOB_RATIO, SHARE_OF_SLOWER, BEST_FIT = 1.8, 0.85, 0.8
MEMORY = Path("/dev/shm")  # noqa: S108  files in memory, so that the disk is not measured


def pack_rows(arguments: argparse.Namespace) -> list[Goal]:
    """Return the goals of the whole job."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        return measure_jobs(arguments, Path(folder))


def measure_jobs(arguments: argparse.Namespace, work: Path) -> list[Goal]:
    """Make the files and run all jobs."""
    text = work / "text.txt"
    text.write_bytes(read_text(corpus_files(arguments.corpora)["en_web"], None))
    given = argparse.Namespace(**vars(arguments), work=work, threads=THREADS)
    tokenizer = arguments.tokenizers / "gpt2" / "tokenizer.json"
    runner = Runner(given, read_tokenizer(tokenizer, EOS))
    runner.version(OURS)  # compiles its modules
    request: dict[str, Any] = {
        "make": "clean", "text": str(text), "megabytes": arguments.megabytes,
        "slice_megabytes": 1, "formats": ["jsonl", "zst", "parquet"], "pieces": THREADS,
    }  # fmt: skip
    progress("making the files of the whole job and the right answer")
    corpus = open_corpus(make_files(work / "clean", request), runner)
    times = {}
    for kind in request["formats"]:
        names = [OURS, THEIRS] if kind == "jsonl" else [OURS]
        for runs in time_kind(runner, corpus, kind, names, arguments.rounds):
            if runs.failure or len(runs.answers) > 1:
                raise SystemExit(f"{kind}, {runs.library}: {runs.failure or 'answers differ'}")
            times[kind, runs.library] = [run.seconds for run in runs.measured]
    rates = {key: [1 / seconds for seconds in values] for key, values in times.items()}
    job = ratio_goal("pack jsonl", JOB_RATIO, rates["jsonl", OURS], rates["jsonl", THEIRS])
    shares = [share_goal(kind, times) for kind in ("zst", "parquet")]
    return [job, *shares, best_fit(runner, corpus.inputs("jsonl", is_slow=False)[0], arguments)]


def share_goal(kind: str, times: dict[tuple[str, str], list[float]]) -> Goal:
    """Return the rate of a job as a share of what its reader and the plain job allow."""
    floor = max(statistics.median(times[key]) for key in ((kind, READER), ("jsonl", OURS)))
    values = [floor / seconds for seconds in times[kind, OURS]]
    what = f"pack {kind} / slower of reader and plain"
    return Goal(what, SHARE_OF_SLOWER, statistics.median(values), values)


def best_fit(runner: Runner, source: Path, arguments: argparse.Namespace) -> Goal:
    """Return the speed of best-fit rows against concatenated ones."""
    rates: dict[str, list[float]] = {"bestfit": [], "concat": []}
    for number in range(arguments.rounds):
        progress(f"best-fit: round {number + 1} of {arguments.rounds}")
        for name, values in rates.items():
            output = runner.work / f"{name}-{number}"
            command = [runner.python(OURS), "-m", "tokenmill", "pack", str(source)]
            command += ["--tokenizer", str(runner.tokenizer.path), "--eos", EOS, "--pack", name]
            command += ["--context-length", CONTEXT, "--workers", str(THREADS)]
            command += ["--output", str(output)]
            done = measure(command, "", runner.work / "rows.log")
            shutil.rmtree(output, ignore_errors=True)
            if done.failure:
                raise SystemExit(f"{name}: {done.failure}")
            values.append(1 / done.seconds)
    return ratio_goal("pack bestfit / concat", BEST_FIT, rates["bestfit"], rates["concat"])
