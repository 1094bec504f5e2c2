#!/usr/bin/env python3
"""What is lost with many threads, and why: hyper-threads, memory, or the engine.

    python benchmarks/compare/cores/scaling.py DATA

Arithmetic that touches no memory, copies of memory, and `encode_batch` with 1, 2, 4, 8 and 16
threads, pinned to processors: first one of each physical core, then the others. The same number of
threads on half as many cores shows what two threads of one core get. Virtual machines may hide
that; then it is measured which processors share a core. DATA is as for run.py. Each
figure is a fresh process and one line of JSON; `share` is the speed divided by that of one thread
times the threads.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

import numpy as np
from _texts import read_text

KINDS = ("arithmetic", "copy", "encode_batch")
COPY_BYTES = 64 << 20  # more than a core's share of the caches
HASHES = 400_000
SIBLINGS = 0.8  # of the speed of two cores: two threads of one core get less
DOCUMENT_BYTES = 3000
Job = tuple[str, int, list[int]]  # what, threads, processors


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    if arguments.job:
        kind, processors = arguments.job[0], [int(number) for number in arguments.job[1:]]
        os.sched_setaffinity(0, processors)
        print(json.dumps(measure(kind, len(processors), arguments)))
        return
    cores = physical_cores()
    show(processor=processor(), cores=cores)
    if max(map(len, cores)) == 1 < len(cores):
        cores = find_siblings(arguments, [own[0] for own in cores])
    alone: dict[str, float] = {}
    for kind, threads, processors in jobs(cores, arguments.threads):
        found = run_child(arguments, kind, processors)
        alone.setdefault(kind, found["rate"])
        share = round(found["rate"] / alone[kind] / threads, 3)
        used = len({core for core, own in enumerate(cores) if {*own} & {*processors}})
        show(what=kind, threads=threads, physical_cores=used, share=share, **found)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the tokenizers and the text")
    parser.add_argument("--tokenizer", default="llama3", help="a folder of DATA (llama3)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--megabytes", type=float, default=250, help="of encode_batch (250)")
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def physical_cores() -> list[list[int]]:
    """Return the processors of each physical core that this process may use."""
    allowed = os.sched_getaffinity(0)
    cores: dict[str, list[int]] = {}
    for number in sorted(allowed):
        folder = Path(f"/sys/devices/system/cpu/cpu{number}/topology")
        try:
            name = (folder / "thread_siblings_list").read_text().strip()
        except OSError:  # a system that does not tell: each counts as a core
            name = str(number)
        cores.setdefault(name, []).append(number)
    return list(cores.values())


def find_siblings(arguments: argparse.Namespace, numbers: list[int]) -> list[list[int]]:
    """Find out whether processors that count as cores are two threads of one, by arithmetic.

    A virtual machine may not say so. The first one is paired with its neighbour, and with the one
    in the middle: systems number the threads of a core in one of these ways.
    """
    half = len(numbers) // 2
    alone = run_child(arguments, "arithmetic", numbers[:1])["rate"]
    shares = {}
    for at in sorted({1, half, len(numbers) - 1}):
        found = run_child(arguments, "arithmetic", [numbers[0], numbers[at]])
        shares[at] = round(found["rate"] / alone / 2, 3)
    show(what="two threads on a pair of processors", pairs_with_the_first=shares)
    distant = max(shares.values())
    if len(numbers) % 2 == 0 and shares[1] < SIBLINGS * distant:
        return [numbers[at : at + 2] for at in range(0, len(numbers), 2)]
    if len(numbers) % 2 == 0 and shares[half] < SIBLINGS * distant:
        return [[numbers[at], numbers[at + half]] for at in range(half)]
    return [[number] for number in numbers]


def processor() -> dict[str, str]:
    """Return what `lscpu` knows about threads, cores and caches."""
    program = shutil.which("lscpu")
    if program is None:
        return {}
    printed = subprocess.run([program], capture_output=True, text=True, check=False).stdout  # noqa: S603
    rows = (line.split(":", 1) for line in printed.splitlines() if ":" in line)
    wanted = ("Model name", "CPU(s)", "Thread", "Core", "Socket", "L2", "L3", "NUMA node(s)")
    return {key.strip(): value.strip() for key, value in rows if key.strip().startswith(wanted)}


def jobs(cores: list[list[int]], counts: list[int]) -> list[Job]:
    """List what is measured: threads on cores of their own, then also two on each core."""
    spread = [own[at] for at in range(max(map(len, cores))) for own in cores if at < len(own)]
    packed = [number for own in cores for number in own]
    found: list[Job] = []
    for kind in KINDS:
        for count in counts:
            if count > len(spread):
                continue
            found.append((kind, count, spread[:count]))
            if count > 1 and len(cores) < len(packed) and count <= len(cores):
                found.append((kind, count, packed[:count]))
    return found


def run_child(arguments: argparse.Namespace, kind: str, processors: list[int]) -> dict[str, Any]:
    """Measure in a fresh process."""
    words = [str(arguments.data), "--tokenizer", arguments.tokenizer, "--megabytes",
             str(arguments.megabytes), "--job", kind, *map(str, processors)]  # fmt: skip
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{kind} with {len(processors)} threads ended with:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(kind: str, threads: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the rate of one kind of work, and its unit."""
    if kind == "arithmetic":
        seconds = together(threads, lambda: hashlib.pbkdf2_hmac("sha256", b"x", b"y", HASHES))
        return {"rate": round(threads * HASHES / seconds / 1e6, 3), "unit": "M hashes/s"}
    if kind == "copy":
        pairs = [np.ones((2, COPY_BYTES), np.uint8) for _ in range(threads)]
        waiting = iter(pairs)

        def copy() -> None:
            pair = next(waiting)
            for _ in range(20):
                np.copyto(pair[0], pair[1])

        seconds = together(threads, copy)
        return {"rate": round(2 * 20 * threads * COPY_BYTES / seconds / 1e9, 2), "unit": "GB/s"}
    return encode(threads, arguments)


def encode(threads: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Encode a list of bytes; the first pass, and the best of three later ones."""
    import tokenmill  # only where it is measured

    data: Path = arguments.data
    name = next(n for n in ("en_web.txt", "en_web.txt.xz") if (data / n).exists())
    text = read_text(data / name, None)
    documents = [text[at : at + DOCUMENT_BYTES] for at in range(0, len(text), DOCUMENT_BYTES)]
    documents *= max(1, round(1e6 * arguments.megabytes / len(text)))
    tokenizer = tokenmill.Tokenizer.load(data / arguments.tokenizer / "tokenizer.json")
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        tokenizer.encode_batch(documents, threads=threads, errors="replace")
        times.append(time.perf_counter() - begin)
    size = sum(map(len, documents)) / 1e6
    return {"rate": round(size / min(times[1:])), "first": round(size / times[0]), "unit": "MB/s"}


def together(threads: int, work: Callable[[], object]) -> float:
    """Return the seconds of the slowest of several threads that do the same."""
    with ThreadPoolExecutor(threads) as pool:
        begin = time.perf_counter()
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()
        return time.perf_counter() - begin


def show(**facts: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
