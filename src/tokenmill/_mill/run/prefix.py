"""The parts from the start of the plan up to the first gap: limits and budgets look only at these.

Workers finish parts in any order. Only what is before the first gap counts, so the number of
workers does not change where a run stops and what it reports.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tokenmill._mill.output.parts import NO_TOKENS

if TYPE_CHECKING:
    from tokenmill._mill.output.parts import PartRecord
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.plan.settings import Settings

FORGIVEN = ("empty_text", NO_TOKENS)  # nothing is wrong with such records


class Prefix:
    """The parts that are taken, in order, and their counts; `bad` is without FORGIVEN."""

    def __init__(self, plan: Plan) -> None:
        s = plan.settings
        chosen = any(x.weight or x.max_tokens is not None for x in plan.sources)
        simple = not (s.shuffle == "docs" or s.validation or chosen)
        self._limit_documents = s.limit_documents
        # A token limit applies to the ordered documents: a prefix only in the order of the plan.
        self._limit_tokens = s.max_tokens if simple else None
        self._row_tokens, self._row_documents = _enough_for_rows(s) if simple else (None, None)
        self._lock = threading.Lock()
        self._found: dict[tuple[int, int], PartRecord] = {}  # after the gap
        self._next = (0, 0)
        self._streams = len(plan.streams)
        self.taken: list[PartRecord] = []
        self.documents = self.tokens = self.records = self.bad = self.input_bytes = 0

    def add(self, record: PartRecord) -> None:
        """Add a finished part, and take all parts that now have no gap before them."""
        with self._lock:
            self._found[record.stream, record.part] = record
            while not self.is_enough and self._next in self._found:
                self._take(self._found.pop(self._next))

    @property
    def has_limits(self) -> bool:
        """Whether the run may end before its inputs do."""
        limits = (self._limit_documents, self._limit_tokens, self._row_tokens, self._row_documents)
        return any(limit is not None for limit in limits)

    @property
    def is_complete(self) -> bool:
        """Whether all parts of the plan are taken."""
        return self._next == (self._streams, 0)

    @property
    def is_enough(self) -> bool:
        """Whether the limits are reached."""
        if self._limit_documents is not None and self.documents >= self._limit_documents:
            return True
        if self._row_tokens is not None and self.tokens >= self._row_tokens:
            return True
        if self._row_documents is not None and self.documents >= self._row_documents:
            return True
        return self._limit_tokens is not None and self.tokens > self._limit_tokens

    def _take(self, record: PartRecord) -> None:
        self.taken.append(record)
        self.documents += record.documents
        self.tokens += record.tokens
        self.records += record.records
        self.bad += sum(n for reason, n in record.bad.items() if reason not in FORGIVEN)
        self.input_bytes += record.input_bytes
        stream, part = self._next
        self._next = (stream + 1, 0) if record.last else (stream, part + 1)


def _enough_for_rows(settings: Settings) -> tuple[int | None, int | None]:
    """Return how many tokens, or documents, fill the rows that `max_sequences` allows.

    `bestfit` chooses among all documents of a shard, so it has no such number.
    """
    rows = settings.max_sequences
    if rows is None:
        return None, None
    if settings.pack == "concat" and settings.context_length is not None:
        return (rows - 1) * (settings.context_length - settings.overlap) + (
            settings.context_length
        ), None
    return None, rows if settings.pack in ("pad", "none") else None
