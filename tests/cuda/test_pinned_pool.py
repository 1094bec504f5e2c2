"""Pinned memory for results: lent, returned, limited."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from tokenmill._cuda.pinned_pool import EAGER, PinnedPool, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pool_of(most: int = 1 << 30) -> tuple[PinnedPool, list[int]]:
    made: list[int] = []

    def pinned(count: int, dtype: Any) -> NDArray[Any]:
        made.append(count)
        return np.zeros(count, dtype)

    backend = SimpleNamespace(pinned=pinned)
    return PinnedPool(cast("Any", backend), most), made


def test_memory_comes_back_when_the_last_view_is_gone() -> None:
    pool, made = pool_of()
    first = pool.take(100_000)
    assert first is not None
    view = first.view(np.uint32)[5:9]
    del first
    second = pool.take(100_000)
    assert len(made) == 2
    del view
    gc.collect()
    third = pool.take(99_000)
    assert len(made) == 2
    assert second is not None
    assert third is not None
    assert not np.may_share_memory(second, third)


def test_large_memory_is_made_for_the_second_result() -> None:
    pool, made = pool_of()
    assert pool.take(EAGER + 1) is None
    assert pool.take(EAGER + 2) is not None
    assert len(made) == 1


def test_no_more_memory_than_the_limit() -> None:
    pool, made = pool_of(most=300_000)
    first, second = pool.take(100_000), pool.take(100_000)
    assert first is not None
    assert second is not None
    assert pool.take(200_000) is None
    del first, second
    assert pool.take(290_000) is not None  # what is free was given up for it
    assert made == [rounded(100_000), rounded(100_000), rounded(290_000)]


def test_a_small_result_does_not_take_large_memory() -> None:
    pool, made = pool_of()
    del_me = pool.take(10_000_000)
    del del_me
    small = pool.take(70_000)
    assert small is not None
    assert small.size < 80_000
    assert len(made) == 2


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 70_000, 1 << 20, (1 << 20) + 1, 10**9])
def test_sizes_are_rounded_up_by_an_eighth_at_most(size: int) -> None:
    assert size <= rounded(size) <= max(size * 9 / 8, 1 << 16)
