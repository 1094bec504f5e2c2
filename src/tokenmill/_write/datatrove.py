"""`datatrove`: `.ds` folders for datatrove and nanotron; a row is a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard, OptionError
from tokenmill._write.body import BodyFormat, IdRange, file_size, table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokenmill._pack.rows import ShardShape
    from tokenmill._write.format import Extras

UNKNOWN = "Unknown Tokenizer"  # as datatrove writes it
UNITS = ("", "k", "M", "G", "T", "P")
THOUSAND = 1000


class Datatrove(BodyFormat):
    """`shard-00000.ds`: ids; `.ds.index`: the end of each document; `.ds.metadata`: for people."""

    name = "datatrove"
    default_pack = "none"
    suffixes = (".ds", ".ds.index", ".ds.metadata")

    def side_files(self, shape: ShardShape, extras: Extras) -> Iterable[Iterable[Any]]:
        """Write the ends and the three lines."""
        yield (np.cumsum(self.stored_lengths(shape)).astype("<u8"),)
        count = self.stored_ids(shape)
        name = extras.tokenizer or UNKNOWN
        if "|" in name or "\n" in name:
            raise OptionError(
                f"the name of the tokenizer cannot be stored here, got {name!r}", where=self.name
            )
        yield (f"{name}|{shape.item_size}\n{count}\n{_in_words(count)}".encode(),)

    def locate(self, paths: list[Path], dtype: str) -> IdRange:
        """Read how many ids there are."""
        size = file_size(paths[1])
        if size % 8:
            raise CorruptShard(f"expected whole uint64 numbers, got {size} bytes", path=paths[1])
        ends = table(paths[1], "<u8", 0, size // 8)
        return IdRange(self.stored_dtype(dtype), 0, int(ends[-1]) if len(ends) else 0)


def _in_words(count: int) -> str:
    """Write three digits for people: 1234 -> "1.23 kT"."""
    power = min(len(str(count)) - 1, 3 * len(UNITS) - 1)
    return f"{count / THOUSAND ** (power // 3):.{2 - power % 3}f} {UNITS[power // 3]}T"
