"""What the drivers share: arguments, fresh processes, answers before times, tables, results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "results"
LIBRARIES = (
    "tokenmill",
    "gigatoken",
    "tokenizers",
    "tokenizers_rc",
    "tiktoken",
    "tokie",
    "fastokens",
    "splintr",
    "iree",
)
BASE = "gigatoken"
# Libraries whose answers are the reference, in this order; each supports what the other does not.
REFERENCES = ("tokenizers", "tiktoken")

Report = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One fresh process: which library does what, on how many threads."""

    library: str
    body: Report
    threads: int


def common_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the arguments of all drivers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tokenizers", type=Path, help="folder with one folder per tokenizer")
    parser.add_argument("--tokenizer", action="append", help="name; repeat (default llama3, gpt2)")
    parser.add_argument("--library", action="append", help="name; repeat (default: all)")
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH",
        help="interpreter of a library, or of `all`; default: this one",
    )  # fmt: skip
    parser.add_argument("--timeout", type=float, default=600, help="seconds a process (600)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser


class Launcher:
    """Runs requests, each in a fresh process bound to as many cores as it has threads."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        pairs: dict[str, str] = dict(pair.split("=", 1) for pair in arguments.python)
        default: str = pairs.get("all", sys.executable)
        self.pythons = {name: pairs.get(name, default) for name in LIBRARIES}
        self.timeout: float = arguments.timeout
        self.cores = sorted(os.sched_getaffinity(0))

    def __call__(self, request: Request) -> Report:
        """Return the report of one process; an error is in `cannot`."""
        command = [self.pythons[request.library], str(HERE / f"with_{request.library}.py")]
        body = json.dumps({**request.body, "threads": request.threads})
        # A child inherits the affinity: set it here, so that it holds from its first instruction.
        os.sched_setaffinity(0, self.cores[-request.threads :])
        try:
            done = subprocess.run(  # noqa: S603  our own files, interpreters named by the user
                command, input=body, capture_output=True, text=True, check=False,
                timeout=self.timeout, env=environment(request.threads),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"cannot": f"more than {self.timeout:.0f} s"}
        finally:
            os.sched_setaffinity(0, self.cores)
        if done.returncode != 0:
            return {"cannot": failure(done)}
        report: Report = json.loads(done.stdout.splitlines()[-1])
        return report


def environment(threads: int) -> dict[str, str]:
    """Return the environment that limits every thread pool known to be used."""
    count = str(threads)
    limits = {"RAYON_NUM_THREADS": count, "RAYON_RS_NUM_THREADS": count, "OMP_NUM_THREADS": count}
    parallel = {"TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}
    return {**os.environ, **limits, **parallel, "TOKENMILL_THREADS": count}


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """Explain in one line why a process ended without a report."""
    lines = done.stderr.strip().splitlines()
    return lines[-1][:200] if lines else f"process ended with {done.returncode}"


def chosen(arguments: argparse.Namespace) -> tuple[list[str], list[Path]]:
    """Return the selected libraries and tokenizer folders."""
    libraries = arguments.library or list(LIBRARIES)
    unknown = [name for name in libraries if name not in LIBRARIES]
    if unknown:
        sys.exit(f"--library: unknown {unknown}; hint: one of {', '.join(LIBRARIES)}")
    names = arguments.tokenizer or ["llama3", "gpt2"]
    folders = [arguments.tokenizers / name for name in names]
    for folder in folders:
        if not folder.is_dir():
            sys.exit(f"{folder}: no such folder; hint: one folder per tokenizer, not compressed")
    return libraries, folders


def reference_ids(launch: Launcher, body: Report) -> str | None:
    """Return the hash of the right answer, from the first reference that has one."""
    for library in REFERENCES:
        report = launch(Request(library, {**body, "passes": 1}, 1))
        if "ids" in report:
            return str(report["ids"])
    return None


def verdict(report: Report, right: str | None) -> str:
    """Return how an answer compares with the reference."""
    if "cannot" in report:
        return f"cannot: {report['cannot']}"
    if right is None:
        return "no reference"
    return "same ids" if report["ids"] == right else "OTHER IDS"


def median_range(values: Sequence[float]) -> str:
    """Return `median (low-high)`; [3.0, 1.0, 2.0] -> '2.0 (1.0-3.0)'."""
    digits = 1 if statistics.median(values) < 100 else 0  # noqa: PLR2004  three digits read best
    middle = f"{statistics.median(values):.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    sys.stdout.write("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n")
    sys.stdout.flush()


def progress(text: str) -> None:
    """Print progress on stderr."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def write_results(folder: Path, kind: str, arguments: argparse.Namespace, rows: object) -> Path:
    """Write one result file with machine, date and commit; an older one is never overwritten."""
    machine = describe_machine()
    now = datetime.now(tz=timezone.utc)
    model = "".join(c if c.isalnum() else "-" for c in machine["cpu"].lower()).strip("-")
    stem = f"{kind}-{now:%Y-%m-%d}-{model}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.json"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}.json"
        number += 1
    facts = {
        "kind": kind,
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine,
        "arguments": {k: shown(v) for k, v in vars(arguments).items() if k not in LOCAL},
        "rows": rows,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")
    progress(f"wrote {path}")
    return path


# Arguments that are paths on one machine and do not affect the measurement.
LOCAL = ("tokenizers", "corpora", "python", "results")


def shown(value: object) -> object:
    """Return an argument in a form JSON can hold."""
    return value if isinstance(value, int | float | str | list | None) else str(value)


def describe_machine() -> dict[str, str]:
    """Return what a reader needs to know about the machine."""
    info = Path("/proc/cpuinfo").read_text()
    lines = (line.partition(":") for line in info.splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    flags = fields.get("flags", fields.get("Features", "")).split()
    vectors = [flag for flag in ("avx2", "avx512bw", "avx512vbmi", "asimd", "sve") if flag in flags]
    memory = Path("/proc/meminfo").read_text().split()[1]
    return {
        "cpu": fields.get("model name", platform.machine()),
        "family": f"{fields.get('cpu family', '')}/{fields.get('model', '')}",
        "vectors": " ".join(vectors),
        "cores": str(len(os.sched_getaffinity(0))),
        "cache": fields.get("cache size", ""),
        "memory_gib": f"{int(memory) / 2**20:.1f}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def commit() -> str:
    """Return the commit of this repository, with + when files differ from it."""
    head = git("rev-parse", "--short=12", "HEAD")
    return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def git(*arguments: str) -> str:
    """Return the output of a git command that only reads; empty without git."""
    command = ["git", "-C", str(HERE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return ""
    return done.stdout.strip()
