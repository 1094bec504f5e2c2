"""The accounts, counted again from the indexes and the tables."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import TokenmillError
from tokenmill._mill.output.document_table import DocumentTable, SeenDocuments
from tokenmill._mill.output.manifest import NAME
from tokenmill._mill.output.parts import NO_TOKENS
from tokenmill._mill.output.quarantine import quarantined
from tokenmill._mill.output.stored import stored_shards
from tokenmill._mill.output.work import DOCUMENTS, QUARANTINE
from tokenmill._read.blocks import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.verify.verify import VerifyReport
    from tokenmill._write import ShardIndex

_CHUNK_DOCUMENTS = 1 << 22  # checked in one pass over the indexes
_NAMED = 3  # documents that a message lists


def check_books(manifest: Manifest, report: VerifyReport) -> None:
    """Count documents and tokens again, and compare with the manifest."""
    try:
        table = DocumentTable(manifest.folder / DOCUMENTS)
        indexes = _indexes(manifest, report, len(table))
        if indexes is not None:
            _check_tokens(manifest, report, table, indexes)
        _check_documents(manifest, report, len(table))
    except (TokenmillError, OSError) as error:
        report.wrong("books", f"cannot be counted: {error}")


def _indexes(manifest: Manifest, report: VerifyReport, documents: int) -> list[ShardIndex] | None:
    """Return all indexes, after checking document numbers; None if one cannot be used."""
    seen, indexes, whole = SeenDocuments(documents), [], True
    for shard in stored_shards(manifest):
        try:
            index = shard.index()
        except TokenmillError:  # reported when the files were checked
            whole = False
            continue
        if int(index.documents.max(initial=-1)) >= documents:
            report.wrong(
                shard.index_path,
                f"has document {int(index.documents.max())}, but {DOCUMENTS} has {documents}",
            )
            whole = False
            continue
        new = seen.add(index.documents)
        if whole and new != shard.documents:
            report.wrong(
                shard.index_path,
                f"{new} documents appear here first, but the manifest has {shard.documents}",
            )
        indexes.append(index)
    return indexes if whole else None


def _check_tokens(
    manifest: Manifest, report: VerifyReport, table: DocumentTable, indexes: Sequence[ShardIndex]
) -> None:
    listed, counted = manifest.tokens, Counter({"in": 0, "dropped": 0, "repeated": 0})
    for begin in range(0, len(table), _CHUNK_DOCUMENTS):
        tokens = table.tokens(begin, min(begin + _CHUNK_DOCUMENTS, len(table)))
        covered, appearing, reach = _coverage(indexes, begin, len(tokens))
        counted["in"] += int(tokens.sum())
        counted["dropped"] += int(tokens.sum() - covered.sum())
        counted["repeated"] += int(appearing - covered.sum())
        _name_documents(report, begin + np.flatnonzero(reach > tokens), "go beyond their end")
        if listed["dropped"] == 0:
            _name_documents(report, begin + np.flatnonzero(covered < tokens), "lack tokens")
    first = manifest.options["formats"][0]
    entries = [entry for entry in manifest.shards if entry["format"] == first]
    counted["out"] = sum(entry["tokens"] for entry in entries)
    counted["padding"] = sum(entry["padding"] for entry in entries)
    for name, count in counted.items():
        if listed[name] != count:
            report.wrong(f"tokens.{name}", f"the manifest has {listed[name]:,}, counted {count:,}")
    came = listed["in"] + listed["padding"] + listed["repeated"]
    if came != listed["out"] + listed["dropped"]:
        report.wrong("tokens", f"the books do not balance: {json.dumps(listed)}")


def _coverage(
    indexes: Sequence[ShardIndex], begin: int, count: int
) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Return, for each document, its tokens in rows, those with repeats, and its furthest end.

    Sorted by document and start, a piece adds what lies after the furthest end before it.
    """
    documents, begins, lengths = _pieces_of(indexes, begin, begin + count)
    order = np.lexsort((begins, documents))
    documents, begins, lengths = documents[order], begins[order], lengths[order]
    ends = begins + lengths
    lane = documents * (int(ends.max(initial=0)) + 1)  # documents one after another on a line
    furthest = np.maximum.accumulate(lane + ends)
    before = np.concatenate((np.zeros(1, np.int64), furthest[:-1]))
    fresh = np.maximum(lane + ends - np.maximum(lane + begins, before), 0)
    covered = np.zeros(count, np.int64)
    reach = np.zeros(count, np.int64)
    np.add.at(covered, documents, fresh)
    np.maximum.at(reach, documents, ends)
    return covered, int(lengths.sum()), reach


def _pieces_of(
    indexes: Sequence[ShardIndex], begin: int, end: int
) -> tuple[NDArray[np.int64], ...]:
    """Return document (counted from `begin`), start and length of the pieces of some documents."""
    parts: list[tuple[NDArray[np.int64], ...]] = [(np.empty(0, np.int64),) * 3]
    for index in indexes:
        mine = (index.documents >= begin) & (index.documents < end)
        if mine.any():
            parts.append((index.documents[mine] - begin, index.begins[mine], index.lengths[mine]))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _name_documents(report: VerifyReport, numbers: NDArray[np.int64], what: str) -> None:
    if len(numbers):
        names = ", ".join(map(str, numbers[:_NAMED].tolist()))
        more = ", ..." if len(numbers) > _NAMED else ""
        report.wrong("documents", f"{len(numbers)} {what}: {names}{more}")


def _check_documents(manifest: Manifest, report: VerifyReport, rows: int) -> None:
    books = manifest.documents
    skipped = books["skipped"]
    if books["in"] != books["out"] + sum(skipped.values()):
        report.wrong("documents", f"the books do not balance: {json.dumps(books)}")
    read = books["in"] - sum(skipped.get(reason, 0) for reason in (*REASONS, NO_TOKENS))
    if rows != read:
        report.wrong(DOCUMENTS, f"has {rows} documents, but {read} were read")
    first = manifest.options["formats"][0]
    out = sum(shard["documents"] for shard in manifest.shards if shard["format"] == first)
    if out != books["out"]:
        report.wrong(NAME, f"documents.out is {books['out']}, but shards hold {out}")
    _check_quarantine(manifest, report)


def _check_quarantine(manifest: Manifest, report: VerifyReport) -> None:
    found: Counter[str] = Counter(record["reason"] for record in quarantined(manifest))
    skipped = manifest.documents["skipped"]
    policies: dict[str, Any] | None = manifest.options["policies"]
    for reason in sorted({*found, *skipped}):
        aside = policies is not None and policies.get(reason) == "quarantine"
        listed, count = skipped.get(reason, 0), found[reason]
        # If outputs with different policies were merged, only an upper bound is known.
        if (count != listed) if aside else (count > listed or (policies is not None and count > 0)):
            report.wrong(QUARANTINE, f"{reason}: the manifest has {listed}, counted {count}")
