"""`verify`: compare a finished output with its manifest, file by file and id by id."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import thread_count
from tokenmill._errors import CorruptShard
from tokenmill._files import checksum
from tokenmill._mill.output.manifest import NAME, Manifest
from tokenmill._mill.output.stored import stored_shards
from tokenmill._mill.output.work import DOCUMENTS, LOCK, QUARANTINE
from tokenmill._mill.plan.plan import plan_id
from tokenmill._mill.verify.books import check_books
from tokenmill._mill.verify.shards import check_shard
from tokenmill._mirror import here, shown, strangers

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Problem:
    """Something that is wrong: where, in which file or account, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class VerifyReport:
    """What `verify` has checked, and everything it found wrong.

    `warnings` lists unknown files, which do no harm. `full` is whether the inputs were tokenized
    again.
    """

    output: str
    full: bool = False
    files: int = 0
    bytes: int = 0
    shards: int = 0
    rows: int = 0
    documents: int = 0
    tokens: int = 0
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def wrong(self, where: str, what: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(where, what))

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        values = {**vars(self), "ok": self.ok}
        values["problems"] = [vars(problem) for problem in self.problems]
        return values


def verify(
    output: str | os.PathLike[str],
    *,
    full: bool = False,
    tokenizer: object = None,
    workers: int | None = None,
) -> VerifyReport:
    """Check a finished output: files, indexes, ids, documents and accounts; list what is wrong.

    `full` tokenizes and packs the inputs again, next to the output, and compares every file. It
    raises PlanDiffers if the inputs have changed. Give `tokenizer` if it is no longer at its old
    path.
    """
    manifest = Manifest.load(output)
    report = VerifyReport(shown(manifest.folder), full)
    try:
        _check_files(manifest, report, thread_count(workers, "workers"))
        check_books(manifest, report)
    except (KeyError, TypeError, AttributeError) as error:
        report.wrong(NAME, f"not a manifest of this version: {error!r}")
        return report
    if full:
        from tokenmill._mill.verify.full import check_again  # rarely needed

        check_again(manifest, report, tokenizer, workers)
    return report


def _check_files(manifest: Manifest, report: VerifyReport, workers: int) -> None:
    data = manifest.data
    if plan_id(data["plan"]) != data["plan_id"] or data["options"] != data["plan"]["options"]:
        report.wrong(NAME, "was changed: the plan does not match its id")
    known = _known_files(manifest, report)
    damaged: set[str] = set()
    folder = manifest.folder
    with ThreadPoolExecutor(workers) as pool:
        found_problems = pool.map(lambda file: _file_problem(folder, file), known.values())
        for path, problem in zip(known, found_problems, strict=True):
            if problem:
                report.wrong(path, problem)
                damaged.add(path)
        shards = stored_shards(manifest)
        for found in pool.map(lambda shard: check_shard(shard, data, damaged), shards):
            report.problems += [Problem(where, what) for where, what in found]
    report.files, report.bytes = len(known), sum(file["bytes"] for file in known.values())
    report.shards = len(shards)
    report.rows = sum(shard.rows for shard in shards)
    report.documents, report.tokens = data["documents"]["out"], data["tokens"]["out"]
    report.warnings += list(_strangers(folder, set(known)))


def _known_files(manifest: Manifest, report: VerifyReport) -> dict[str, dict[str, Any]]:
    """Return every file of the manifest by its path."""
    known: dict[str, dict[str, Any]] = {}
    listed = [file for shard in manifest.shards for file in shard["files"]]
    for file in [*listed, *manifest.data["files"]]:
        if known.setdefault(file["path"], file) != file:
            report.wrong(NAME, f"has two entries that differ for {file['path']}")
        if Path(file["path"]).is_absolute() or ".." in Path(file["path"]).parts:
            report.wrong(NAME, f"lists a file outside of the output: {file['path']}")
    for name in (DOCUMENTS, QUARANTINE):
        if name not in known:
            report.wrong(NAME, f"does not list {name}")
    return known


def _file_problem(folder: Path, file: dict[str, Any]) -> str:
    path = folder / file["path"]
    try:
        size = here(path).stat().st_size
        if size != file["bytes"]:
            return f"expected {file['bytes']:,} bytes, got {size:,}"
        found = checksum(path)
    except FileNotFoundError:
        return "no such file"
    except CorruptShard as error:  # of an output in a store: it was not fetched
        return error.problem
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if found == file["checksum"] else f"expected {file['checksum']}, got {found}"


def _strangers(folder: Path, known: set[str]) -> Iterator[str]:
    """Yield the files that the manifest does not list."""
    in_store = strangers(folder, known | {NAME, LOCK})
    if in_store is not None:
        yield from (f"{path}: not part of the output" for path in in_store)
        return
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name).relative_to(folder).as_posix()
            if path not in known and path not in (NAME, LOCK):
                yield f"{path}: not part of the output"
