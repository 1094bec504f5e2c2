"""`verify --full`: make the output again from its manifest, and compare every file."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import Hint, InputError, Option, PlanDiffers, TokenmillError
from tokenmill._mill.output.stored import RowReader, stored_shards
from tokenmill._mill.output.tokenizer_of import tokenizer_of
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.plan import Plan, differences, plan_facts, plan_id
from tokenmill._mill.plan.settings import Settings
from tokenmill._mill.plan.sources import Source
from tokenmill._mill.plan.task import Task, list_files
from tokenmill._mill.rewrite.rewrite import rewrite
from tokenmill._read import ReadRules, assume_format, deal_streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._mill.verify.verify import VerifyReport
    from tokenmill._tokenizer import Tokenizer

_SHOWN = 12
_WITHOUT = "without {} the output is checked against its own manifest"
_OF_READING = ("text_mode", "max_document_bytes", "delimiter")


def check_again(
    manifest: Manifest, report: VerifyReport, tokenizer: object, workers: int | None
) -> None:
    """Tokenize and pack into a folder next to the output, compare, and remove it."""
    loaded = tokenizer_of(manifest, tokenizer)
    plan, work = manifest.data["plan"], Work(manifest.folder)
    refuse_changed_inputs(plan, loaded, work)
    output = manifest.folder.resolve()
    folder = Path(tempfile.mkdtemp(prefix=f".{output.name}-again-", dir=output.parent))
    try:
        again = _make(plan, loaded, folder / "output", workers, work)
        _compare(manifest, again, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_changed_inputs(facts: dict[str, Any], tokenizer: Tokenizer, work: Work) -> None:
    """Raise PlanDiffers, with the differences, unless the inputs are unchanged."""
    for origin in facts.get("from", ()):
        refuse_changed_inputs(origin["plan"], tokenizer, work)
    if "from" in facts:
        return
    lines = list(differences(facts, _plan(facts, tokenizer, work).facts))
    if lines:
        more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        raise PlanDiffers(
            "the inputs have changed; what differs:\n  "
            + "\n  ".join(lines[:_SHOWN])
            + f"{more}\n",
            where="verify",
            differences=tuple(lines),
            hint=Hint(_WITHOUT, Option("full", value=True)),
        )


def _make(
    facts: dict[str, Any], tokenizer: Tokenizer, output: Path, workers: int | None, work: Work
) -> Manifest:
    """Make an output again; a rewritten one from the outputs it was made of."""
    if "from" not in facts:
        task = Task(_plan(facts, tokenizer, work), tokenizer, ())
        return pack_task(task, output=output, workers=workers).manifest
    parts = [
        _make(origin["plan"], tokenizer, output.with_name(f"{output.name}-{number}"), workers, work)
        for number, origin in enumerate(facts["from"])
    ]
    return rewrite(
        [part.folder for part in parts],
        output=output,
        format=facts["options"]["formats"],
        shard_tokens=facts["shard_tokens"],
        workers=workers,
    )


def _plan(facts: dict[str, Any], tokenizer: Tokenizer, work: Work) -> Plan:
    """Rebuild the plan of a run from its manifest; files that `work` owns are not inputs."""
    options = dict(facts["options"])
    reading = {key: options.pop(key) for key in _OF_READING}
    policies = tuple(sorted(options.pop("policies").items()))
    settings = Settings(**{**options, "formats": tuple(options["formats"]), "policies": policies})
    replace = frozenset(reason for reason, policy in policies if policy == "replace")
    skips = dict(policies).get("bad_file", "fail") != "fail"
    rules = ReadRules(replace=replace, skip_bad_files=skips, **reading)
    sources = tuple(_source(source) for source in facts["sources"])
    listed, _ = list_files(sources, work, keep_unreadable=skips)
    formats = {entry["path"]: entry["format"] for entry in facts["inputs"]}
    files = [assume_format(file, formats.get(file.path, file.format)) for file in listed]
    fields = tuple(entry["field"] for entry in facts["inputs"])
    fields = (fields + ("",) * len(files))[: len(files)]
    found = plan_facts(
        settings,
        rules,
        sources,
        list(zip(files, fields, strict=True)),
        {"name": facts["tokenizer"]["name"], "hash": tokenizer.describe().content_hash},
    )
    streams = tuple(deal_streams(files, rules))
    return Plan(settings, rules, sources, tuple(files), fields, streams, found, plan_id(found))


def _source(facts: dict[str, Any]) -> Source:
    if any(path in ("", "-") for path in facts["paths"]):
        raise InputError(
            "came from memory or a pipe and cannot be read again",
            path=facts["name"],
            hint=Hint(_WITHOUT, Option("full", value=True)),
        )
    return Source(tuple(facts["paths"]), facts["weight"], facts["max_tokens"], None, facts["name"])


def _compare(there: Manifest, again: Manifest, report: VerifyReport) -> None:
    for key in ("documents", "tokens"):
        for line in differences(there.data[key], again.data[key], key):
            report.wrong("made again", line)
    old, new = _checksums(there), _checksums(again)
    for path in sorted(old.keys() - new.keys()):
        report.wrong(path, "is not made again")
    for path in sorted(new.keys() - old.keys()):
        report.wrong(path, "is made again, and was not there")
    differ = {path for path in old.keys() & new.keys() if old[path] != new[path]}
    for path in sorted(differ):
        report.wrong(path, f"made again it has {new[path]}, the manifest has {old[path]}")
    damaged = {problem.where for problem in report.problems}  # found by the earlier checks
    shards = {(shard.split, shard.number): shard for shard in stored_shards(again)}
    for shard in stored_shards(there):
        other = shards.get((shard.split, shard.number))
        for form, entry in shard.formats.items():
            mine = {file["path"] for file in entry["files"]}
            if other is not None and not mine.isdisjoint(differ | damaged):
                report.wrong(entry["path"], _first_difference(shard, other, form))


def _checksums(manifest: Manifest) -> dict[str, str]:
    files = [file for shard in manifest.shards for file in shard["files"]]
    return {file["path"]: file["checksum"] for file in [*files, *manifest.data["files"]]}


def _first_difference(there: StoredShard, again: StoredShard, form: str) -> str:
    """Return which row and token of two shards is the first to differ."""
    try:
        for row, (old, new) in enumerate(
            zip(_rows_of(there, form), _rows_of(again, form), strict=False)
        ):
            if not np.array_equal(old, new):
                return _describe(row, old, new)
    except TokenmillError as error:
        return f"cannot be compared row by row: {error}"
    if there.rows != again.rows:
        return f"has {there.rows} rows, made again {again.rows}; the others are equal"
    return "its rows are equal; something other than the tokens differs"


def _rows_of(shard: StoredShard, form: str) -> Iterator[NDArray[Any]]:
    reader = RowReader(shard, form)
    for rows in reader.rows(0, reader.index.rows):
        yield from np.split(rows.ids, np.cumsum(rows.pieces.row_lengths)[:-1])


def _describe(row: int, old: NDArray[Any], new: NDArray[Any]) -> str:
    for token, (a, b) in enumerate(zip(old, new, strict=False)):
        if a != b:
            return f"row {row}, token {token}: has {a}, made again {b}"
    return f"row {row}: has {len(old)} tokens, made again {len(new)}"
