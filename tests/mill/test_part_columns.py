"""The numbers of documents in parts: read at once, and joined for the parts of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokenmill import CorruptShard
from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.run.order import Ordered, plan_order

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = (3, 0, 5, 1)  # documents of parts; odd ones put numbers of 8 bytes at places of 4
KINDS = {"lengths": "<i8", "files": "<i4", "lines": "<i8", "positions": "<i8"}


def make_part(folder: Path, number: int, documents: int) -> Part:
    """Write a part whose columns are 10, 11, 12..., 20, 21... and so on, after some ids."""
    data, sections = b"\1\0" * 7, {"ids": [0, 14]}
    for place, (name, kind) in enumerate(KINDS.items(), 1):
        numbers = (np.arange(documents) + 10 * place).astype(kind).tobytes()
        sections[name] = [len(data), len(numbers)]
        data += numbers
    tokens = sum(range(10, 10 + documents))
    record = PartRecord(
        0, number, documents, tokens, 0, 0, 0, {}, {}, sections, len(data), {}, False, 0
    )
    part = Part(folder, record, "uint16")
    part.path.write_bytes(data)
    return part


@pytest.mark.parametrize("documents", COUNTS)
def test_columns_are_read_at_once_in_any_order(documents: int, tmp_path: Path) -> None:
    part = make_part(tmp_path, 0, documents)
    for names in (["lines"], ["keys"], ["positions", "keys", "files"], [*KINDS][::-1]):
        for name, found in zip(names, part.columns(*names), strict=True):
            place = [*KINDS, "keys"].index(name) + 1
            wanted = [] if name == "keys" else [10 * place + i for i in range(documents)]
            assert found.tolist() == wanted
            assert found.flags.aligned
            assert found.flags.writeable


def test_a_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    part = make_part(tmp_path, 0, 3)
    part.path.write_bytes(part.path.read_bytes()[:-1])
    assert part.column("lengths").tolist() == [10, 11, 12]
    with pytest.raises(CorruptShard, match="became shorter"):
        part.columns("lengths", "positions")


def test_parts_together_have_the_documents_of_each(tmp_path: Path) -> None:
    runs = plan_order([make_part(tmp_path, i, count) for i, count in enumerate(COUNTS)])
    each = [run.load() for run in runs]
    ordered = Ordered(runs)
    together, start = ordered.between(0, ordered.tokens)
    assert start == 0
    for name in ("part", "begin", "length", "number"):
        wanted = np.concatenate([getattr(documents, name) for documents in each])
        assert getattr(together, name).tolist() == wanted.tolist()
    some, start = ordered.between(22, 44)  # from the third document of part 0 to one of part 2
    assert (start, some.part.tolist(), some.begin.tolist()) == (21, [0, 2, 2], [21, 0, 10])
