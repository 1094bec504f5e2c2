"""The order pass: choose, split, weigh and shuffle documents by their lengths alone.

It passes over the lengths of all parts twice: once to add them up, and once to write each chosen
document into the bucket of its key. Memory is bounded by one part and a buffer.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._files import unfinished_path
from tokenmill._mill.output.work import ORDER, read_json, write_json
from tokenmill._mill.run.buckets import KEY_BITS, BucketFiles, bucket_count
from tokenmill._mill.run.order import ENTRY, BucketRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._mill.output.parts import Part

TRAIN, VALIDATION = "train", "validation"
SPLITS = (TRAIN, VALIDATION)


@dataclass(frozen=True)
class DealRules:
    """What decides which documents are taken, and in which order."""

    seed: int | None  # None: not shuffled
    validation: float
    weights: tuple[str | None, ...]  # of each source, as written: exact fractions
    caps: tuple[int | None, ...]  # of each source: the most tokens to take
    source_of_file: tuple[int, ...]
    limit_documents: int | None

    @property
    def keeps_the_plan(self) -> bool:
        """Whether all documents are taken in the order of the plan."""
        return (
            self.seed is None
            and self.validation == 0
            and not any(self.weights)
            and all(cap is None for cap in self.caps)
            and self.limit_documents is None
        )


@dataclass
class Dealt:
    """The runs of each split, and the documents and tokens that were left out, by reason."""

    runs: dict[str, list[BucketRun]]
    skipped: dict[str, int] = field(default_factory=dict)
    skipped_tokens: int = 0


def deal(parts: Sequence[Part], rules: DealRules, folder: Path) -> Dealt:
    """Return the runs, from the record of an earlier call if there is one."""
    if folder.exists():
        dealt = _read_whole(folder)
        if dealt is not None:
            return dealt
        shutil.rmtree(folder, ignore_errors=True)
    own = unfinished_path(folder)  # another rank may be doing the same
    own.mkdir(parents=True)
    try:
        write_json(own / ORDER, _deal(parts, rules, own))
        with contextlib.suppress(OSError):  # the other one was faster: its files are the same
            own.rename(folder)
    finally:
        shutil.rmtree(own, ignore_errors=True)
    return _read_record(folder)


def _read_whole(folder: Path) -> Dealt | None:
    if not (folder / ORDER).exists():
        return None
    dealt = _read_record(folder)
    are_whole = all(run.is_whole for runs in dealt.runs.values() for run in runs)
    return dealt if are_whole else None


def _read_record(folder: Path) -> Dealt:
    value = read_json(folder / ORDER)
    runs = {
        split: [BucketRun(folder / name, tokens, documents) for name, tokens, documents in rows]
        for split, rows in value["runs"].items()
    }
    return Dealt(runs, value["skipped"], value["skipped_tokens"])


@dataclass
class _Chosen:
    """The documents of one part: the source and split of each, and where its tokens are."""

    part: int
    source: NDArray[np.int64]
    split: NDArray[np.int64]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    number: NDArray[np.int64]


def _deal(parts: Sequence[Part], rules: DealRules, folder: Path) -> dict[str, Any]:
    totals = np.zeros((len(SPLITS), len(rules.weights)), np.int64)
    documents = 0
    for chosen in _documents(parts, rules):
        np.add.at(totals, (chosen.split, chosen.source), chosen.length)
        documents += len(chosen.length)
    quotas = np.array([_quotas(row, rules) for row in totals])
    kept = np.minimum(totals, quotas)
    buckets = BucketFiles(folder, SPLITS, [bucket_count(int(row.sum()), documents) for row in kept])
    return _Dealing(rules, quotas, kept.sum(axis=1), buckets).run(parts)


def _documents(parts: Sequence[Part], rules: DealRules) -> Iterator[_Chosen]:
    sources = np.array(rules.source_of_file, np.int64)
    number = 0
    for index, part in enumerate(parts):
        length = part.column("lengths")
        if rules.limit_documents is not None:
            length = length[: max(0, rules.limit_documents - number)]
        count = len(length)
        split = np.zeros(count, np.int64)
        if rules.validation:
            split[_hashes_below(part.column("keys")[:count], rules.validation)] = 1
        yield _Chosen(
            index,
            sources[part.column("files")[:count]],
            split,
            np.cumsum(length) - length,
            length,
            number + np.arange(count, dtype=np.int64),
        )
        number += part.record.documents


def _hashes_below(keys: NDArray[np.uint64], share: float) -> NDArray[np.bool_]:
    below: NDArray[np.bool_] = keys < np.uint64(min(int(share * 2**64), 2**64 - 1))
    return below


def _quotas(totals: NDArray[np.int64], rules: DealRules) -> list[int]:
    """Return how many tokens of each source are taken: up to its cap, and its share by weight.

    With weights, the source that runs out first decides the size of the mix; none is repeated.
    """
    had = [
        int(total) if cap is None else min(int(total), cap)
        for total, cap in zip(totals, rules.caps, strict=True)
    ]
    if not any(rules.weights):
        return had
    weights = [Fraction(weight or "0") for weight in rules.weights]
    size = min(
        (Fraction(h) / w for h, w in zip(had, weights, strict=True) if w), default=Fraction()
    )
    return [int(weight * size) for weight in weights]


class _Dealing:
    """The second pass: documents within their quotas, into the buckets of their keys."""

    def __init__(
        self,
        rules: DealRules,
        quotas: NDArray[np.int64],
        kept: NDArray[np.int64],
        buckets: BucketFiles,
    ) -> None:
        self._rules = rules
        self._quotas = quotas
        self._kept = kept
        self._buckets = buckets
        self._taken = np.zeros_like(quotas)  # tokens so far, by split and source
        self._full = np.zeros(quotas.shape, bool)
        self._passed = np.zeros(len(SPLITS), np.int64)
        self._skipped: dict[str, int] = {}
        self._skipped_tokens = 0

    def run(self, parts: Sequence[Part]) -> dict[str, Any]:
        for chosen in _documents(parts, self._rules):
            left_out = parts[chosen.part].record.documents - len(chosen.length)
            tokens = parts[chosen.part].record.tokens - int(chosen.length.sum())
            self._skip("limit_documents", left_out, tokens)
            for split in range(len(SPLITS)):
                self._take_split(chosen, split)
        return {
            "runs": self._buckets.finish(),
            "skipped": self._skipped,
            "skipped_tokens": self._skipped_tokens,
        }

    def _take_split(self, chosen: _Chosen, split: int) -> None:
        mine = chosen.split == split
        position = np.zeros(len(mine), np.float64)  # of the document within its source, 0 to 1
        for source in range(len(self._rules.weights)):
            which = np.flatnonzero(mine & (chosen.source == source))
            if len(which):
                position[which] = self._within_quota(chosen, split, source, which, mine)
        self._buckets.put(split, self._entries(chosen, split, mine, position))

    def _within_quota(
        self,
        chosen: _Chosen,
        split: int,
        source: int,
        which: NDArray[np.intp],
        mine: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Drop what exceeds the quota of the source; return how far along it each document is."""
        quota = int(self._quotas[split, source])
        ends = int(self._taken[split, source]) + np.cumsum(chosen.length[which])
        fits = (ends <= quota) & (not self._full[split, source])
        # The first that does not fit ends the source: a smaller one after it is not preferred.
        fits = np.logical_and.accumulate(fits)
        self._full[split, source] |= not bool(fits.all())
        over = which[~fits]
        mine[over] = False
        reason = "not_in_the_mix" if self._rules.weights[source] is not None else "source_cap"
        self._skip(reason, len(over), int(chosen.length[over].sum()))
        if fits.any():
            self._taken[split, source] = ends[fits][-1]
        return (ends - chosen.length[which]) / max(quota, 1)

    def _entries(
        self, chosen: _Chosen, split: int, mine: NDArray[np.bool_], position: NDArray[np.float64]
    ) -> NDArray[Any]:
        entries = np.empty(int(mine.sum()), ENTRY)
        entries["number"] = chosen.number[mine]
        entries["begin"] = chosen.begin[mine]
        entries["length"] = chosen.length[mine]
        entries["part"] = chosen.part
        entries["key"] = self._keys(entries, split, position[mine])
        return entries

    def _keys(
        self, entries: NDArray[Any], split: int, position: NDArray[np.float64]
    ) -> NDArray[np.uint64]:
        if self._rules.seed is not None:
            hashed = hash_numbers(entries["number"], self._rules.seed)
            shifted: NDArray[np.uint64] = hashed >> np.uint64(64 - KEY_BITS)
            return shifted
        if not any(self._rules.weights):
            before = int(self._passed[split]) + np.cumsum(entries["length"]) - entries["length"]
            self._passed[split] += int(entries["length"].sum())
            position = before / max(int(self._kept[split]), 1)
        keys: NDArray[np.uint64] = (np.minimum(position, 1.0) * (2**KEY_BITS - 1)).astype(np.uint64)
        return keys

    def _skip(self, reason: str, documents: int, tokens: int) -> None:
        if documents:
            self._skipped[reason] = self._skipped.get(reason, 0) + documents
            self._skipped_tokens += tokens


def hash_numbers(numbers: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Hash numbers with a seed: splitmix64 of both, the same on every machine."""
    with np.errstate(over="ignore"):
        value = _mix(np.full(1, seed % 2**64, np.uint64))[0] ^ numbers.astype(np.uint64)
        return _mix(_mix(value))


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return value
