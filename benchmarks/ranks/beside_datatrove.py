#!/usr/bin/env python3
"""datatrove's local executor next to tokenmill: the same files and cores, and what a death costs.

    python -m venv ../trove && ../trove/bin/pip install -r benchmarks/requirements-datatrove.txt
    python benchmarks/ranks/beside_datatrove.py --datatrove ../trove/bin/python \
        --results benchmarks/results

Both tokenize the same .jsonl files with the same tokenizer on two workers; all ids are compared
before a time is printed. Then one worker of each is killed while it works. Told afterwards is
whether the run ends by itself, what is in the output, and what the same command does when it is run
again. tokenmill needs Ray for this, which has workers that can be killed alone.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from speed import make_text

import tokenmill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WORKERS = 2
EOS = "<|endoftext|>"
TROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
source, tokenizer, output, tasks, workers, eos = sys.argv[1:]
if __name__ == "__main__":
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(source, text_key="text", glob_pattern="*.jsonl"),
            DocumentTokenizer(output + "/tokens", tokenizer_name_or_path=tokenizer, eos_token=eos,
                              shuffle_documents=False),
        ],
        tasks=int(tasks), workers=int(workers), logging_dir=output + "/logs",
    ).run()
"""


@dataclass(frozen=True)
class Library:
    """A command, the output it writes, and where its work shows first."""

    name: str
    command: list[str]
    output: Path
    has_begun: Callable[[Path], bool]
    worker: str  # in the command line of a worker
    files: Callable[[Path], list[Path]]


def main() -> None:
    """Measure, print, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datatrove", required=True, help="a Python that has it")
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--patience", type=float, default=60, help="seconds without work")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        result = measure(arguments, Path(name))
    print(json.dumps(result, indent=1))
    if arguments.results:
        today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
        facts = {"date": today, "tokenmill": tokenmill.__version__, "mb": arguments.mb, **result}
        path = arguments.results / f"beside-datatrove-{today}.json"
        path.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run all libraries, whole and with a death."""
    source = folder / "source"
    source.mkdir()
    for number in range(arguments.files):
        make_text(source / f"{number:02d}.jsonl", arguments.mb / arguments.files)
    tokenizer = folder / "tokenizer.json"
    loaded = tokenmill.Tokenizer.load()
    loaded.save(tokenizer)
    eos = loaded.token_to_id(EOS)
    if eos is None:
        sys.exit(f"the tokenizer has no {EOS}")
    result: dict[str, Any] = {}
    expected = ""
    for library in libraries(arguments, source, tokenizer, folder):
        seconds = run(library)
        digest, documents = read(library, eos)
        expected = expected or digest
        result[library.name] = {
            "seconds": round(seconds, 2),
            "documents": sum(documents.values()),
            "ids": "equal" if digest == expected else "DIFFER",
        }
        print(library.name, result[library.name], flush=True)
        if library.worker:
            again = Library(**{**library.__dict__, "output": library.output.with_suffix(".dead")})
            result[library.name]["death"] = death(again, library, arguments, eos)
    return result


def libraries(
    arguments: argparse.Namespace, source: Path, tokenizer: Path, folder: Path
) -> Iterable[Library]:
    """Return what is compared."""
    mill = [
        sys.executable, "-m", "tokenmill", "pack", str(source), "-t", str(tokenizer), "--format",
        "datatrove", "--workers", str(WORKERS), "--quiet", "-o",
    ]  # fmt: skip

    def parts(output: Path) -> bool:
        return any((output / "_work/parts").glob("*.json"))

    def shards(output: Path) -> list[Path]:
        return sorted((output / "datatrove").glob("*.ds"))

    yield Library("tokenmill", mill, folder / "mill", parts, "", shards)
    ray = [*mill[:-1], "--engine", "ray", "-o"]
    yield Library("tokenmill on Ray", ray, folder / "ray", parts, "TokenmillWorker", shards)
    trove = [
        arguments.datatrove, "-c", TROVE, str(source), str(tokenizer), "", str(arguments.files),
        str(WORKERS), EOS,
    ]  # fmt: skip

    def written(output: Path) -> bool:
        return any(path.stat().st_size for path in (output / "tokens").glob("*.ds"))

    yield Library(
        "datatrove", trove, folder / "trove", written, "forkserver",
        lambda output: sorted((output / "tokens").glob("*.ds")),
    )  # fmt: skip


def start(library: Library) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own."""
    command = [*library.command, str(library.output)]
    if library.name == "datatrove":
        command = [str(library.output) if part == "" else part for part in library.command]
    return subprocess.Popen(  # noqa: S603
        command,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
    )


def run(library: Library) -> float:
    """Return the seconds of a whole run, its start included."""
    began = time.perf_counter()
    if start(library).wait():
        sys.exit(f"{library.name} has failed")
    return time.perf_counter() - began


def death(
    library: Library, whole: Library, arguments: argparse.Namespace, eos: int
) -> dict[str, Any]:
    """Kill the busiest worker after the first work is seen; then run the same command again."""
    child = start(library)
    while child.poll() is None and not library.has_begun(library.output):
        time.sleep(0.01)
    victim = busiest(library.worker, child.pid)
    if child.poll() is not None or victim is None:
        return {"killed": "too late"}
    os.kill(victim, signal.SIGKILL)
    ended = ends(child, arguments.patience)
    after = read(library, eos)[1] if ended == 0 else None
    if ended is None:
        end_session(child)
    began = time.perf_counter()
    second = start(library)
    code = ends(second, arguments.patience)
    if code is None:
        end_session(second)
    digest, documents = read(library, eos)
    right_digest, right = read(whole, eos)
    return {
        "ended": "never: killed after the patience" if ended is None else f"with status {ended}",
        "documents_after_the_death": None if after is None else sum(after.values()),
        "second_run_seconds": round(time.perf_counter() - began, 2),
        "second_run_status": code,
        "lost_documents": sum((right - documents).values()),
        "double_documents": sum((documents - right).values()),
        "ids": "equal" if digest == right_digest else "DIFFER",
    }


def ends(child: subprocess.Popen[bytes], patience: float) -> int | None:
    """Return the status; None if its processes have not worked for so long."""
    last, since = -1.0, time.monotonic()
    while child.poll() is None:
        time.sleep(0.2)
        spent = sum(cpu(pid) for pid in session(child.pid))
        if spent - last > 0.02 * max(time.monotonic() - since, 1):  # more than a heartbeat
            last, since = spent, time.monotonic()
        if time.monotonic() - since > patience:
            return None
    return child.returncode


def end_session(child: subprocess.Popen[bytes]) -> None:
    """Kill everything that a command has started."""
    for pid in session(child.pid):
        os.kill(pid, signal.SIGKILL)
    child.wait()


def busiest(name: str, leader: int) -> int | None:
    """Return the worker of a session that has used most CPU time."""
    found = [
        pid
        for pid in session(leader)
        if pid != leader and name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return max(found, key=cpu, default=None)


def session(leader: int) -> list[int]:
    """Return the processes of a session, and all that descend from them."""
    facts = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and (stat := _stat(int(path.name))):
            facts[int(path.name)] = (int(stat[1]), int(stat[3]))  # parent, session
    found = {pid for pid, (_, own) in facts.items() if own == leader}
    while more := {pid for pid, (parent, _) in facts.items() if parent in found} - found:
        found |= more
    return sorted(found)


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def read(library: Library, eos: int) -> tuple[str, Counter[bytes]]:
    """Return a hash of all ids, and how often each document is there."""
    ids = np.concatenate([np.fromfile(path, np.uint16) for path in library.files(library.output)])
    documents = np.split(ids, np.flatnonzero(ids == eos) + 1)
    counts = Counter(hashlib.sha256(d.tobytes()).digest() for d in documents if len(d))
    return hashlib.sha256(ids.tobytes()).hexdigest(), counts


if __name__ == "__main__":
    main()
