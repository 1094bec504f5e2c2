"""The dirty part: one bad line of each kind per 1,000, and what happens to the good ones."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from _driver import print_table, progress
from benchmarks.compare.pack._answers import count_documents
from benchmarks.compare.pack._corpus import DIRTY_LIMIT_BYTES

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from benchmarks.compare.pack._jobs import Runner

Row = dict[str, Any]
KINDS = (
    "bad_json",
    "missing_field",
    "null_field",
    "wrong_type",
    "bad_utf8",
    "lone_surrogate",
    "empty_text",
    "too_long",
    "all",
)
# A line of the log that could be about bad input, if the run without any does not have it.
SAYS = re.compile(
    r"skip|bad|error|warn|invalid|quarantin|malformed|fail|missing|null|empty|corrupt|exception"
    r"|without|aside|surrogate|utf|too.long|wrong",
    re.IGNORECASE,
)
NUMBERS = re.compile(r"\d+")
STAMP = re.compile(r"^[-\d]+ [:.\d]+ \| (\w+) +\| \S+ - ")  # time and module before a message
QUOTED = 70
NAME = "documents.jsonl"


def run_dirty(runner: Runner, folder: Path, names: list[str]) -> list[Row]:
    """Return one row for each library and kind of bad line."""
    tokenizer = runner.tokenizer
    good = folder / "good" / NAME
    right = count_documents([runner.reference(good)], tokenizer.dtype, tokenizer.eos_id)
    rows = []
    for name in names:
        progress(f"dirty: {name}, no bad line")
        clean = run_file(runner, name, good, right)
        quiet = {plain(line) for line in clean["log"].splitlines()}
        for kind in KINDS:
            progress(f"dirty: {name}, {kind}")
            row = run_file(runner, name, folder / kind / NAME, right)
            said = said_line(row, quiet).replace(str(runner.work.resolve()) + "/", "")
            del row["log"]
            rows.append({"task": "dirty", "library": name, "kind": kind, **row, "said": said})
    return rows


def run_file(runner: Runner, name: str, path: Path, right: Counter[bytes]) -> Row:
    """Return what came out of one file."""
    tokenizer = runner.tokenizer
    measured = runner.run(name, [path], "jsonl", max_document_bytes=DIRTY_LIMIT_BYTES)
    found = count_documents(runner.outputs(name), tokenizer.dtype, tokenizer.eos_id)
    return {
        "good": right.total(),
        "lost": (right - found).total(),
        "others": (found - right).total(),
        "status": measured.status,
        # The folder names contain the kind of bad line; the library did not write that.
        "log": measured.log.replace(f"{path.resolve().parent}", "input"),
    }


def said_line(row: Row, quiet: set[str]) -> str:
    """Return the line about bad input: of a failure the last, else the first; or ''."""
    lines = [line.strip() for line in row["log"].splitlines() if plain(line) not in quiet]
    speaking = [line for line in lines if SAYS.search(line)]
    if not speaking:
        return ""
    return " ".join(STAMP.sub("", speaking[-1 if row["status"] else 0]).split())


def plain(line: str) -> str:
    """Return a line without its numbers, which differ from run to run."""
    return NUMBERS.sub("", line).strip()


def show_dirty(rows: list[Row]) -> None:
    """Print the table."""
    sys.stdout.write(
        "dirty: one bad line of each kind per 1,000; `others` are documents that came out of bad "
        "lines\n\n"
    )
    header = ["library", "bad lines", "good documents", "lost", "others", "exit", "reported?"]
    print_table(header, [table_row(row) for row in rows])


def table_row(row: Row) -> list[str]:
    """Return one line of the table."""
    said = row["said"].replace("|", "/")
    quoted = f"yes: {said[:QUOTED]}" if said else "no"
    counts = [f"{row[name]:,}" for name in ("good", "lost", "others")]
    return [row["library"], row["kind"], *counts, str(row["status"]), quoted]
