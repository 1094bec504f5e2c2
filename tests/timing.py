"""Whether work grows with its size or with the square of it, on a machine that does other things.

Only time of the processor counts, and only against time that was taken a moment before. What noise
adds to one try is not there in the next; what is not linear fails all of them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TRIES = 5


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long the processor was busy with it."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def check_linear(work: Callable[[int], object], size: int, factor: int) -> None:
    """`factor` times the size must be nearer to `factor` times the time than to its square.

    Measured against the mean of so many small ones that they run as long as the large one.
    """
    bound = factor**1.5
    work(size)  # tables are made at the first call
    ratios: list[float] = []
    while len(ratios) < _TRIES and min(ratios, default=bound) >= bound:
        small = sum(seconds_of(lambda: work(size)) for _ in range(factor)) / factor
        ratios.append(seconds_of(lambda: work(size * factor)) / small)
    assert min(ratios) < bound, ratios
