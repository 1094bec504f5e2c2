"""The books of a run: documents and tokens in against documents and tokens out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._errors import BooksDiffer, Hint, Option, TooManyBadRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokenmill._mill.output.parts import PartRecord
    from tokenmill._mill.output.shard_records import ShardRecord

_PERCENT = 100


@dataclass
class Books:
    """Counts of what was read, and independent counts of what was written."""

    documents_in: int = 0
    documents_out: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    blank_lines: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    padding: int = 0
    repeated: int = 0
    dropped: int = 0

    def enter(self, parts: Iterable[PartRecord]) -> None:
        """Count what was read."""
        for part in parts:
            self.documents_in += part.records
            self.tokens_in += part.tokens
            self.blank_lines += part.blank_lines
            self.skipped.update(part.bad)
            self.replaced.update(part.replaced)

    def leave_out(self, skipped: Mapping[str, int], tokens: int) -> None:
        """Count documents that were read and not used."""
        self.skipped.update({reason: count for reason, count in skipped.items() if count})
        self.dropped += tokens

    def write_out(self, shards: Iterable[ShardRecord], first_format: str) -> None:
        """Count what was written; stored ids are those of the first format."""
        for shard in shards:
            self.documents_out += shard.documents
            if shard.rows:
                self.tokens_out += shard.formats[first_format]["ids"]
                self.padding += shard.formats[first_format]["padding"]
            self.repeated += shard.repeated
            self.dropped += shard.dropped

    def check(self) -> None:
        """Raise BooksDiffer unless both sides are equal."""
        skipped = sum(self.skipped.values())
        if self.documents_in != self.documents_out + skipped:
            raise BooksDiffer(
                f"documents: {self.documents_in} in, but {self.documents_out} out and "
                f"{skipped} skipped"
            )
        came = self.tokens_in + self.padding + self.repeated
        went = self.tokens_out + self.dropped
        if came != went:
            raise BooksDiffer(
                f"tokens: {self.tokens_in} in, {self.padding} padding and {self.repeated} repeated "
                f"make {came}, but {self.tokens_out} out and {self.dropped} dropped make {went}"
            )

    def as_json(self) -> dict[str, Any]:
        """Return both accounts for the manifest."""
        return {
            "documents": {
                "in": self.documents_in,
                "out": self.documents_out,
                "skipped": dict(sorted(self.skipped.items())),
                "replaced": dict(sorted(self.replaced.items())),
                "blank_lines": self.blank_lines,
            },
            "tokens": {
                "in": self.tokens_in,
                "out": self.tokens_out,
                "padding": self.padding,
                "repeated": self.repeated,
                "dropped": self.dropped,
            },
        }


@dataclass(frozen=True)
class Budget:
    """How many bad records a run may have: a count, or a share of all records."""

    count: int | None = None
    share: float | None = None

    def check(self, bad: int, records: int) -> None:
        """Raise TooManyBadRecords if the budget is exceeded."""
        if self.count is not None and bad > self.count:
            allowed = f"{self.count:,}"
        elif self.share is not None and bad > self.share * records:
            allowed = f"{self.share * _PERCENT:g}%"
        else:
            return
        raise TooManyBadRecords(
            f"{bad:,} of {records:,} records are bad, more than the {allowed} allowed",
            bad=bad,
            records=records,
            hint=Hint("the quarantine lists where and why; {} allows more", Option("max_bad")),
        )
