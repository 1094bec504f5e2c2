#!/usr/bin/env python3
"""Peak memory of `tokenmill pack`: the same documents again and again, and very long ones.

    python benchmarks/compare/pack/memory.py --tokenizer gpt2/tokenizer.json --text en.txt --long

Every output is compared: repeated input must produce the reference's ids as often, and a long
document and its neighbours all of their bytes (which requires a byte-level tokenizer).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, print_table, progress, write_results
from benchmarks.compare.pack._answers import read_ids
from benchmarks.compare.pack._corpus import as_line, documents
from benchmarks.compare.pack._jobs import Runner, make_files, read_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.compare.pack._meter import Measured

GROWTH = 4
HUGE_MEGABYTES = 10_000
NEIGHBOURS = 100  # documents before, and as many after a long one
PIECE_CHARACTERS = 100_000
LOCAL = ("tokenizer", "text", "work", "python", "results")
Row = dict[str, Any]


def main() -> None:
    """Measure, print, write the result file; exit 1 if an output is wrong."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        arguments.work = arguments.work or Path(temporary)
        arguments.work.mkdir(parents=True, exist_ok=True)
        rows = run_all(arguments)
    show(rows)
    measured = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k not in LOCAL})
    write_results(arguments.results, "pack-memory", measured, rows)
    sys.exit(1 if any(row["answer"] != "equal" for row in rows) else 0)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text to cut documents from")
    parser.add_argument("--eos", default="<|endoftext|>", help="token that ends a document")
    parser.add_argument("--megabytes", type=float, default=67.5, help="of the least input (67.5)")
    parser.add_argument("--steps", type=int, default=3, help="inputs, each 4 times the last (3)")
    parser.add_argument("--huge", action="store_true", help="10 GB too; needs 20 GB of disk")
    parser.add_argument("--long", action="store_true", help="a long line and a long document too")
    parser.add_argument("--line-megabytes", type=float, default=2000, help="of that line (2000)")
    parser.add_argument("--document-megabytes", type=float, default=1000, help="(1000)")
    parser.add_argument("--memory-limit", help="given to tokenmill, as 2GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds a process (3600)")
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH",
        help="interpreter of tokenmill, of `tokenizers` (the reference), or of `all`",
    )  # fmt: skip
    parser.add_argument("--work", type=Path, help="folder for the files; kept and used again")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser.parse_args()


def run_all(arguments: argparse.Namespace) -> list[Row]:
    """Return the rows of all selected parts."""
    runner = Runner(arguments, read_tokenizer(arguments.tokenizer, arguments.eos))
    request = {
        "make": "clean",
        "text": str(arguments.text),
        "megabytes": arguments.megabytes,
        "slice_megabytes": 0,
        "formats": [],
        "pieces": 1,
    }
    base = make_files(arguments.work / "base", request) / "whole.jsonl"
    tests = Tests(runner, base, arguments)
    times = [GROWTH**step for step in range(arguments.steps)]
    if arguments.huge:
        times.append(round(HUGE_MEGABYTES * 1e6 / base.stat().st_size))
    rows = [tests.repeated(count) for count in times]
    if arguments.long:
        rows += [
            tests.long("line", arguments.line_megabytes),
            tests.long("document", arguments.document_megabytes),
        ]
    return rows


class Tests:
    """Makes an input, runs tokenmill on it, compares the output, removes the input."""

    def __init__(self, runner: Runner, base: Path, arguments: argparse.Namespace) -> None:
        self._runner = runner
        self._base = base
        self._text: Path = arguments.text
        limit = arguments.memory_limit
        self._more = {"memory_limit": limit} if limit else {}
        self._input: Path = arguments.work / "input.jsonl"

    def repeated(self, count: int) -> Row:
        """Run the base corpus `count` times in one file."""
        with self._input.open("wb") as sink:
            for _ in range(count):
                with self._base.open("rb") as source:
                    shutil.copyfileobj(source, sink, 1 << 20)
        right = self._runner.reference(self._base)
        return self._run(f"{count} x", lambda files: repeats(files, right, count))

    def long(self, what: str, megabytes: float) -> Row:
        """Run some documents around a long one, which is kept, or quarantined above the limit."""
        text = self._text.read_text(encoding="utf-8")
        stream = documents(text, PIECE_CHARACTERS // 100)
        lines = [as_line(next(stream)) for _ in range(2 * NEIGHBOURS)]
        around = self._base.with_name("neighbours.jsonl")
        around.write_bytes(b"".join(lines))
        right = self._runner.reference(around).read_bytes()
        piece = text[:PIECE_CHARACTERS]
        count = -(-int(megabytes * 1e6) // len(piece.encode()))
        with self._input.open("wb") as sink:
            sink.writelines(lines[:NEIGHBOURS])
            sink.write(b'{"text": "')
            for _ in range(count):
                sink.write(json.dumps(piece, ensure_ascii=False)[1:-1].encode())
            sink.write(b'"}\n')
            sink.writelines(lines[NEIGHBOURS:])
        size = count * len(piece.encode())
        return self._run(f"one {what}", lambda files: self._surrounded(files, right, size))

    def _run(self, name: str, verdict: Callable[[list[Path]], str]) -> Row:
        megabytes = self._input.stat().st_size / 1e6
        progress(f"{name}, {megabytes:,.0f} MB")
        measured = self._runner.run("tokenmill", [self._input], "jsonl", **self._more)
        self._input.unlink()
        outputs = self._runner.outputs("tokenmill")
        answer = measured.failure or verdict(outputs)
        return {
            "input": name,
            "megabytes": megabytes,
            "answer": answer,
            "skipped": "" if measured.failure else self._skipped(),
            **facts(measured),
        }

    def _manifest(self) -> Row:
        manifest: Row = json.loads((self._runner.output / "manifest.json").read_text())
        return manifest

    def _skipped(self) -> str:
        skipped = self._manifest()["documents"]["skipped"]
        return ", ".join(f"{count:,} {reason}" for reason, count in skipped.items())

    def _surrounded(self, files: list[Path], right: bytes, size: int) -> str:
        """Check that neighbours and long document are complete; `right` has only the neighbours."""
        if size > self._manifest()["options"]["max_document_bytes"]:
            size = 0
        tokenizer = self._runner.tokenizer
        vocabulary = json.loads(tokenizer.path.read_text(encoding="utf-8"))["model"]["vocab"]
        lengths = np.zeros(max(*vocabulary.values(), tokenizer.eos_id) + 1, np.int64)
        for token, number in vocabulary.items():
            lengths[number] = len(token)  # one character stands for a byte
        lengths[tokenizer.eos_id] = 0
        found = sum(int(lengths[ids].sum()) for ids in read_ids(files, tokenizer.dtype))
        expected = size + int(lengths[np.frombuffer(right, tokenizer.dtype)].sum())
        if found != expected:
            return f"DIFFERS: {found - expected:+,} bytes of text"
        return "equal" if has_ends(files, right) else "DIFFERS: other ids around it"


def repeats(files: list[Path], right: Path, count: int) -> str:
    """Check that joined files are `count` times the right one."""
    found, expected = hashlib.sha256(), hashlib.sha256()
    for digest, paths in ((found, files), (expected, [right] * count)):
        for path in paths:
            with path.open("rb") as file:
                while data := file.read(1 << 20):
                    digest.update(data)
    return "equal" if found.digest() == expected.digest() else "DIFFERS"


def has_ends(files: list[Path], right: bytes) -> bool:
    """Check that the output starts and ends like the right one, cut somewhere between documents."""
    with files[0].open("rb") as file:
        head = file.read(len(right))
    with files[-1].open("rb") as file:
        file.seek(max(0, files[-1].stat().st_size - len(right)))
        tail = file.read()
    before = common_bytes(head, right)
    after = common_bytes(tail[::-1], right[::-1])
    return before + after >= len(right)


def common_bytes(one: bytes, other: bytes) -> int:
    """Return how many bytes two strings share from their start; b"abc", b"abd" -> 2."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def facts(measured: Measured) -> Row:
    """Return a measurement without its log."""
    return {name: value for name, value in asdict(measured).items() if name != "log"}


def show(rows: list[Row]) -> None:
    """Print the table."""
    header = ["input", "MB", "answer", "skipped", "seconds", "MB/s"]
    header += ["peak MiB", "private MiB", "load"]
    print_table(header, map(table_row, rows))


def table_row(row: Row) -> list[str]:
    """Return one line of the table."""
    return [
        row["input"],
        f"{row['megabytes']:,.0f}",
        row["answer"],
        row["skipped"] or "-",
        f"{row['seconds']:.1f}",
        f"{row['megabytes'] / row['seconds']:.1f}",
        f"{row['peak_mib']:.0f}",
        f"{row['private_mib']:.0f}",
        f"{row['load']:.1f}",
    ]


if __name__ == "__main__":
    main()
