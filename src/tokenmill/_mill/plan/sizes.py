"""How large the streams of a plan are, about."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._mill.plan.plan import Plan
    from tokenmill._read import InputFile


def stream_sizes(plan: Plan, size_of: Callable[[InputFile], int]) -> list[float]:
    """Return the size of each stream; the segments of a file share its size equally."""
    pieces = Counter(segment.file for stream in plan.streams for segment in stream.segments)
    return [
        sum(size_of(plan.files[s.file]) / pieces[s.file] for s in stream.segments)
        for stream in plan.streams
    ]
