#!/usr/bin/env python3
"""How speed grows with threads: `encode_batch` on a list of bytes, and `pack` of JSON lines.

    python benchmarks/compare/cores/run.py DATA --path PEERS

DATA holds `gpt2/tokenizer.json`, `llama3/tokenizer.json` and a text (`en_web.txt` or `.txt.xz`).
gigatoken runs on all cores next to it, if it can be imported; `--path` adds folders to import from.
Each figure is a fresh process and one line of JSON. The last lines are the ratios, by medians. No
figure is started that may end after `--seconds`, so a slower machine gets fewer of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import Launcher, Request, describe_machine
from _texts import read_text
from benchmarks.compare.cores._lines import write_lines
from benchmarks.compare.pack._jobs import Runner, read_tokenizer

OURS, PEER = "tokenmill", "gigatoken"
TOKENIZERS = ("gpt2", "llama3")
EOS = "<|endoftext|>"
ENCODE_SHARE = 0.45  # of the time
Key = tuple[str, str, int]  # what, library, threads


class Figures:
    """The rates found so far, and the time that is left."""

    def __init__(self, seconds: float) -> None:
        self._begin = time.monotonic()
        self._seconds = seconds
        self._longest: dict[Key, float] = {}
        self.rates: dict[Key, list[float]] = defaultdict(list)

    def fits(self, key: Key, share: float = 1.0) -> bool:
        """Check whether another run like the last one of this kind would end in time."""
        used = time.monotonic() - self._begin
        return used + self._longest.get(key, 0.0) < share * self._seconds

    def add(self, key: Key, begin: float, rate: float, **more: Any) -> None:
        """Keep and print one figure; `begin` is when its process was started."""
        self._longest[key] = time.monotonic() - begin
        self.rates[key].append(rate)
        what, library, threads = key
        show(what=what, library=library, threads=threads, megabytes_per_second=round(rate), **more)

    def median(self, key: Key) -> float | None:
        """Return the median rate, or None without one."""
        return statistics.median(self.rates[key]) if self.rates.get(key) else None


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    paths = [*map(str, arguments.path), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    threads = [n for n in arguments.threads if n <= len(os.sched_getaffinity(0))]
    show(machine=describe_machine(), threads=threads)
    figures = Figures(arguments.seconds)
    with tempfile.TemporaryDirectory(dir=arguments.memory) as folder:
        arguments.work = Path(folder)
        os.environ["TOKENMILL_CACHE"] = str(arguments.work / "cache")
        text = arguments.work / "text.txt"
        text.write_bytes(find_text(arguments.data))
        measure_encode(arguments, figures, threads, text)
        measure_pack(arguments, figures, threads, text)
    show_ratios(figures, threads)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the tokenizers and the text")
    parser.add_argument("--path", type=Path, action="append", default=[], help="to import from")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--megabytes", type=float, default=250, help="of encode_batch (250)")
    parser.add_argument("--pack-megabytes", type=float, default=3600, help="of pack (3600)")
    parser.add_argument("--passes", type=int, default=5, help="of a process; the first is cold (5)")
    parser.add_argument("--seconds", type=float, default=170, help="for everything (170)")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="folder in memory")  # noqa: S108
    parser.add_argument("--timeout", type=float, default=120, help="seconds a process (120)")
    parser.set_defaults(python=[])
    return parser.parse_args()


def find_text(data: Path) -> bytes:
    """Return the text of a folder, or end the program."""
    for name in ("en_web.txt", "en_web.txt.xz"):
        if (data / name).exists():
            return read_text(data / name, None)
    sys.exit(f"{data}: no en_web.txt or en_web.txt.xz; hint: any English text under that name")


def measure_encode(
    arguments: argparse.Namespace, figures: Figures, threads: list[int], text: Path
) -> None:
    """Let tokenmill with each number of threads and the peer on all cores take turns."""
    launch = Launcher(arguments)
    turns = [(OURS, n) for n in threads] + [(PEER, threads[-1])]
    gone = set[Key]()
    while len(gone) < len(turns) * len(TOKENIZERS):
        for name in TOKENIZERS:
            for library, n in turns:
                key = (f"encode_batch {name}", library, n)
                if key in gone or not figures.fits(key, ENCODE_SHARE):
                    gone.add(key)
                    continue
                body = {
                    "task": "passes",
                    "tokenizer": str((arguments.data / name).resolve()),
                    "corpora": [str(text)],
                    "limit_bytes": None,
                    "repeat_to_bytes": int(arguments.megabytes * 1e6),
                    "passes": arguments.passes,
                }
                begin = time.monotonic()
                report = launch(Request(library, body, n))
                if "cannot" in report:
                    show(what=key[0], library=library, cannot=report["cannot"])
                    gone.add(key)
                    continue
                first, *later = report["megabytes_per_second"]
                facts = {k: report[k] for k in ("megabytes", "peak_mib", "ids")}
                figures.add(key, begin, statistics.median(later), first_pass=round(first), **facts)


def measure_pack(
    arguments: argparse.Namespace, figures: Figures, threads: list[int], text: Path
) -> None:
    """Let tokenmill with each number of workers and the peer take turns; one worker comes last."""
    begin = time.monotonic()
    inputs = write_lines(text, arguments.work, arguments.pack_megabytes * 1e6, files=16)
    size = sum(path.stat().st_size for path in inputs) / 1e6
    show(what="made", megabytes=round(size), seconds=round(time.monotonic() - begin, 1))
    tokenizer = read_tokenizer(arguments.data / "gpt2" / "tokenizer.json", EOS)
    most = threads[-1]
    turns = [(OURS, most), (PEER, most)] * 3 + [(OURS, n) for n in reversed(threads[:-1])]
    for library, n in turns * 2:
        key = ("pack gpt2", library, n)
        if not figures.fits(key):
            continue
        runner = Runner(argparse.Namespace(**{**vars(arguments), "threads": n}), tokenizer)
        begin = time.monotonic()
        done = runner.run(library, inputs, "jsonl")
        if done.failure:
            show(what=key[0], library=library, threads=n, cannot=done.failure)
        else:
            facts = {"cpu_seconds": round(done.cpu_seconds, 1), "peak_mib": round(done.peak_mib)}
            facts["output_bytes"] = sum(path.stat().st_size for path in runner.outputs(library))
            figures.add(key, begin, size / done.seconds, seconds=round(done.seconds, 2), **facts)
        shutil.rmtree(runner.output, ignore_errors=True)


def show_ratios(figures: Figures, threads: list[int]) -> None:
    """Print what the issue asks for: against one thread, and against the peer on all cores."""
    most = threads[-1]
    for what in dict.fromkeys(key[0] for key in figures.rates):
        best = figures.median((what, OURS, most))
        others = {
            "against_one": figures.median((what, OURS, 1)),
            f"against_{PEER}": figures.median((what, PEER, most)),
        }
        if best is not None:
            ratios = {k: round(best / rate, 2) for k, rate in others.items() if rate}
            show(what=what, threads=most, median=round(best), **ratios)


def show(**facts: Any) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
