"""Outputs in a bucket: packed by child processes, and compared with a folder."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.mill.children import Child, Order, Outcome, run_child
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import digests
from tests.mill.ways import WAYS

from tokenmill import ObjectNotFound
from tokenmill._store import delete, get_whole, list_objects

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._store import Address

_SETTINGS = ("AWS_", "TOKENMILL_STORE")
LEASE = 0.6


def object_digests(folder: Address) -> dict[str, str]:
    """Return a hash of every object below an address."""
    start = len(folder.key) + 1
    infos = list(list_objects(folder))

    def digest(info: Any) -> tuple[str, str] | None:
        try:
            data = get_whole(info.address)[0]
        except ObjectNotFound:  # the last request of a process that was killed has come late
            return None
        return info.address.key[start:], hashlib.sha256(data).hexdigest()

    with ThreadPoolExecutor(4) as pool:
        return dict(found for found in pool.map(digest, infos) if found is not None)


def settings() -> dict[str, str]:
    """Return the variables that say where the store is, for children."""
    return {name: value for name, value in os.environ.items() if name.startswith(_SETTINGS)}


@dataclass(frozen=True)
class Place:
    """Where a test packs, and with what."""

    tokenizer: Path
    folder: Path
    bucket: Address


class StorePacking:
    """The same plan, packed to a folder once and to a bucket in many ways."""

    def __init__(self, way: str, corpus: Corpus | list[str], place: Place, **options: Any) -> None:
        self.address = place.bucket / "packed"
        folder = place.folder
        self.work = folder / "work"
        self._inputs = corpus.paths if isinstance(corpus, Corpus) else corpus
        self._options = {
            "tokenizer": str(place.tokenizer),
            "workers": 2,
            "shard_tokens": 4000,
            "max_document_bytes": LONGEST,
            **WAYS[way],
            **options,
        }
        alone = {**self._options, "output": str(folder / "a")}
        self.alone = run_child(Order(self._inputs, alone, environment=settings()))
        assert self.alone.error is None
        self.expected = digests(folder / "a")

    def order(self, how: dict[str, Any] | None = None, **options: Any) -> Order:
        where = {"output": str(self.address), "work": str(self.work)}
        given = {**self._options, **where, **options}
        return Order(self._inputs, given, environment=settings(), **(how or {}))

    def run(self, how: dict[str, Any] | None = None, **options: Any) -> Outcome:
        return run_child(self.order(how, **options))

    def rank_order(self, rank: int, ranks: int, **how: Any) -> Order:
        return self.order(how, rank=rank, ranks=ranks, lease=LEASE, workers=1)

    def start(self, rank: int, ranks: int, **how: Any) -> Child:
        return Child(self.rank_order(rank, ranks, **how))

    def check_nothing_is_half_done(self) -> None:
        """What has a final name has its final bytes, and there is no manifest."""
        found = object_digests(self.address)
        assert "manifest.json" not in found
        for name, digest in found.items():
            # Tables of an unfinished run hold what it has read so far.
            if not name.startswith(("_work/", "quarantine", "documents")):
                assert digest == self.expected[name], name

    def check(self, *outcomes: Outcome) -> None:
        """All have ended well, with the same bytes, and nothing else is left anywhere."""
        assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
        found = object_digests(self.address)
        assert found == self.expected, sorted(set(found.items()) ^ set(self.expected.items()))
        assert not list(self.work.rglob("*"))

    def check_objects(self) -> None:
        """Compare the objects of a finished output.

        Ranks that were stopped at the very end may have left some of their work.
        """
        found = object_digests(self.address)
        kept = {name: digest for name, digest in found.items() if not name.startswith("_work/")}
        assert kept == self.expected

    def forget(self) -> None:
        """Compare the objects of a finished output, and remove them."""
        self.check_objects()
        for info in list_objects(self.address):
            delete(info.address)
