#!/usr/bin/env python3
"""The whole job with every library: files in, one row of ids with end tokens on disk.

    python benchmarks/compare/pack/run.py --tokenizer gpt2/tokenizer.json --text en.txt

Libraries take turns over the rounds, each in a fresh process; answers are compared before a time is
printed. Without --work everything is in a temporary folder, which is removed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, progress, write_results
from benchmarks.compare.pack._dirty import run_dirty, show_dirty
from benchmarks.compare.pack._jobs import LIBRARIES, Runner, make_files, read_tokenizer
from benchmarks.compare.pack._speed import open_corpus, show, show_share, summary, time_kind

FORMATS = ("jsonl", "zst", "parquet")
DIRTY = "dirty"
# Arguments that are paths on one machine and do not affect the measurement.
LOCAL = ("tokenizer", "text", "work", "python", "results")


def main() -> None:
    """Measure, print, write the result file; exit 1 if tokenmill's answer is wrong."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        arguments.work = arguments.work or Path(temporary)
        arguments.work.mkdir(parents=True, exist_ok=True)
        rows = run_all(arguments)
    measured = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k not in LOCAL})
    write_results(arguments.results, "pack", measured, rows)
    sys.exit(1 if any(map(is_wrong, rows)) else 0)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text to cut documents from")
    parser.add_argument("--eos", default="<|endoftext|>", help="token that ends a document")
    parser.add_argument("--megabytes", type=float, default=270, help="of the corpus as JSONL (270)")
    parser.add_argument("--slice-megabytes", type=float, default=27, help="for slow libraries (27)")
    parser.add_argument("--dirty-documents", type=int, default=4000, help="good ones (4000)")
    parser.add_argument("--only", nargs="+", choices=[*FORMATS, DIRTY], default=[*FORMATS, DIRTY])
    parser.add_argument("--library", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds a process (1800)")
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH",
        help="interpreter of a library, of `tokenizers` (the reference), or of `all`",
    )  # fmt: skip
    parser.add_argument("--work", type=Path, help="folder for the files; kept and used again")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser.parse_args()


def run_all(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of all selected parts."""
    runner = Runner(arguments, read_tokenizer(arguments.tokenizer, arguments.eos))
    versions = {name: runner.version(name) for name in arguments.library}
    names = [name for name, version in versions.items() if version]
    for name in sorted(set(versions) - set(names)):
        progress(f"{name}: not installed; hint: --python {name}=PATH")
    formats = [kind for kind in FORMATS if kind in arguments.only]
    rows = run_formats(runner, arguments, formats, names) if formats else []
    if DIRTY in arguments.only:
        request = {"text": str(arguments.text), "documents": arguments.dirty_documents}
        folder = make_files(arguments.work / DIRTY, {"make": DIRTY, **request})
        rows += run_dirty(runner, folder, names)
        show_dirty([row for row in rows if row["task"] == DIRTY])
    return [{**row, "version": versions.get(row["library"], "")} for row in rows]


def run_formats(
    runner: Runner, arguments: argparse.Namespace, formats: list[str], names: list[str]
) -> list[dict[str, Any]]:
    """Return the rows of the timed part."""
    progress("making the corpus and the reference's answer")
    request = {
        "make": "clean",
        "text": str(arguments.text),
        "megabytes": arguments.megabytes,
        "slice_megabytes": min(arguments.slice_megabytes, arguments.megabytes),
        "formats": formats,
        "pieces": arguments.threads,
    }
    corpus = open_corpus(make_files(arguments.work / "clean", request), runner)
    starts = start_seconds(
        runner, corpus.folder / "one" / "document.jsonl", names, arguments.rounds
    )
    rows: list[dict[str, Any]] = []
    for kind in formats:
        all_runs = time_kind(runner, corpus, kind, names, arguments.rounds)
        rows += [summary(kind, runs, corpus) for runs in all_runs]
        show(kind, rows[-len(all_runs) :], starts)
        show_share(kind, rows)
    for row in rows:
        row["start_seconds"] = starts.get(row["library"])
    return rows


def start_seconds(runner: Runner, one: Path, names: list[str], rounds: int) -> dict[str, float]:
    """Return the seconds each library needs for a corpus of one document."""
    progress("one document")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            seconds[name].append(runner.run(name, [one], "jsonl").seconds)
    return {name: statistics.median(values) for name, values in seconds.items()}


def is_wrong(row: dict[str, Any]) -> bool:
    """Check whether a row shows that tokenmill lost or changed something."""
    if row["library"] != "tokenmill":
        return False
    if row["task"] == DIRTY:
        return bool(row["lost"] or row["others"] or row["status"])
    return bool(row["answer"] != "equal")


if __name__ == "__main__":
    main()
