"""Texts -> the most frequent segments of them, in the cache before anybody asks."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._cache.support import supported
from tokenmill._errors import TokenmillError
from tokenmill._platform.processes import thread_nice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._cache.disk import DiskTier
    from tokenmill._core import SegmentCache
    from tokenmill._tokenizer import Tokenizer

_HELD = 8  # texts of so many times the budget are looked at, at most
_LEAST_HELD = 64 << 20
_NICE = 10


@dataclass
class WarmReport:
    """What warming did; `ended` says why it stopped."""

    texts: int = 0
    text_bytes: int = 0
    skipped: int = 0  # texts that cannot be encoded
    segments: int = 0  # different ones, long enough to be kept
    stored: int = 0
    stored_bytes: int = 0
    ended: str = "not yet"


class Warming:
    """A run of warming, on a thread of low priority or in the caller's."""

    def __init__(
        self,
        core: SegmentCache,
        disk: DiskTier | None,
        tokenizer: Tokenizer,
        texts: Iterable[str | bytes],
    ) -> None:
        self.report = WarmReport()
        self._core = core
        self._disk = disk
        self._tokenizer = tokenizer
        self._texts = texts
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Run on a thread that other work goes before."""
        self._thread = threading.Thread(target=self._run_behind, name="tokenmill-warm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the segment at hand."""
        self._is_stopped = True

    def wait(self, timeout: float | None = None) -> WarmReport:
        """Return the report when it has ended, or so far if `timeout` seconds are over."""
        if self._thread is not None:
            self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return self.report

    def run(self) -> None:
        """Count the segments of all texts, then encode them, the most frequent first."""
        support = supported(self._tokenizer)
        if not support:
            self.report.ended = support.reason
            return
        budget = int(self._core.use()["budget"])
        model: Any = self._tokenizer.ready.model
        counts: Counter[bytes] = Counter()
        places: dict[bytes, tuple[str | bytes, int]] = {}  # a text with it, and its size
        for text in self._texts:
            if self._is_stopped or self.report.text_bytes > max(_HELD * budget, _LEAST_HELD):
                break
            self._count(model, text, counts, places)
        self.report.segments = len(places)
        # Of equal counts the first seen goes first: sorting keeps their order.
        order = [key for key, _ in counts.most_common()]
        self.report.ended = self._store(model, order, places, budget)

    def _count(
        self,
        model: Any,
        text: str | bytes,
        counts: Counter[bytes],
        places: dict[bytes, tuple[str | bytes, int]],
    ) -> None:
        self.report.texts += 1
        try:
            found = self._core.segments(model, text)
        except TokenmillError:
            self.report.skipped += 1
            return
        self.report.text_bytes += len(text)
        for key, size in found:
            counts[key] += 1
            places.setdefault(key, (text, size))

    def _store(
        self,
        model: Any,
        order: list[bytes],
        places: dict[bytes, tuple[str | bytes, int]],
        budget: int,
    ) -> str:
        evicted = self._core.use()["evictions"]
        for key in order:
            if self._is_stopped:
                return "stopped"
            use = self._core.use()
            text, size = places[key]
            if use["evictions"] > evicted or use["bytes"] + size > budget:
                return "the budget is full"
            self._core.warm(model, text, key, self._disk)
            self.report.stored += 1
            self.report.stored_bytes += size
        return "done"

    def _run_behind(self) -> None:
        with suppress(OSError):
            thread_nice(_NICE)
        try:
            self.run()
        except BaseException as error:  # raised again by wait()
            self._error = error
            self.report.ended = f"failed: {error}"
