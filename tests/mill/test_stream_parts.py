"""A stream is whole when its last part and all before it are committed, in whatever order."""

from __future__ import annotations

from dataclasses import fields
from itertools import permutations
from typing import Any

import pytest

from tokenmill._mill.output.parts import PartRecord
from tokenmill._mill.run.stream_parts import StreamParts


def part(number: int, *, last: bool = False) -> PartRecord:
    values: dict[str, Any] = {field.name: 0 for field in fields(PartRecord)}
    return PartRecord(**{**values, "part": number, "last": last})


@pytest.mark.parametrize("n_before", [0, 1, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_only_the_part_that_completes_a_stream_says_so(
    order: tuple[int, ...], n_before: int
) -> None:
    total = n_before + 3
    parts = StreamParts([part(number) for number in range(n_before)])
    said = [parts.add(part(n_before + i, last=n_before + i == total - 1)) for i in order]
    assert said == [False, False, True]
    assert [record.part for record in parts.in_order()] == list(range(total))
