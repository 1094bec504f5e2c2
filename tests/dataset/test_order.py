"""Orders without lists: bijections, shares of ranks, mixtures."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenmill import OptionError
from tokenmill._dataset.order import REMAINDERS, Mixture, Permutation, Remainder, Share


@pytest.mark.parametrize("size", [1, 2, 3, 100, 4096, 4097, 5000, 65536, 65537, 100_003])
@pytest.mark.parametrize("key", [(0, 0), (1, 0), (0, 1)])
def test_a_permutation_reaches_every_number_once(size: int, key: tuple[int, int]) -> None:
    order = Permutation(size, *key)(np.arange(size))
    assert np.array_equal(np.sort(order), np.arange(size))
    assert size < 100 or not np.array_equal(order, np.arange(size))


def test_a_permutation_of_billions_needs_no_list() -> None:
    order = Permutation(3_000_000_000_000, 7)
    places = np.arange(0, 3_000_000_000_000, 30_000_000_007)
    numbers = order(places)
    assert len(np.unique(numbers)) == len(places)
    assert numbers.min() >= 0
    assert numbers.max() < 3_000_000_000_000


def test_keys_give_other_permutations_and_one_key_always_the_same() -> None:
    orders = [Permutation(10_000, seed, epoch)(np.arange(10_000)) for seed in (0, 1)
              for epoch in (0, 1)]  # fmt: skip
    for i, order in enumerate(orders):
        # Of 10,000 numbers about one stays at its place between two independent orders.
        assert all(np.sum(order == other) < 20 for other in orders[:i])
    assert np.array_equal(Permutation(10_000, 1, 1)(np.arange(10_000)), orders[3])


def test_the_order_stays_the_same_in_all_versions() -> None:
    assert Permutation(10, 3, 4)(np.arange(10)).tolist() == SMALL
    assert Permutation(1_000_000, 3, 4)(np.arange(5)).tolist() == LARGE


SMALL = [2, 7, 1, 5, 0, 8, 6, 9, 3, 4]
LARGE = [14733, 528869, 537638, 410046, 814188]


@pytest.mark.parametrize("size", [5, 5000])
def test_every_number_comes_first_about_as_often(size: int) -> None:
    fifths = Counter(int(Permutation(size, seed)(np.arange(1))[0]) * 5 // size
                     for seed in range(2000))  # fmt: skip
    # 400 each; six standard deviations are 107.
    assert all(abs(fifths[fifth] - 400) < 107 for fifth in range(5))


def test_neighbours_are_torn_apart() -> None:
    numbers = Permutation(100_000, 5)(np.arange(100_000))
    near = np.abs(np.diff(numbers)) < 100
    assert near.mean() < 0.004  # 0.002 is expected by chance


def shares(rows: int, batch: int, ranks: int, remainder: Remainder) -> list[list[list[int]]]:
    all_ranks = [Share(rows, batch, rank, ranks, remainder) for rank in range(ranks)]
    return [[share.places(unit).tolist() for unit in range(share.units)] for share in all_ranks]


@given(rows=st.integers(0, 60), batch=st.integers(1, 5), ranks=st.integers(1, 5))
def test_shares_divide_an_epoch(rows: int, batch: int, ranks: int) -> None:
    step = batch * ranks
    uneven = shares(rows, batch, ranks, "uneven")
    read = Counter(place for rank in uneven for unit in rank for place in unit)
    assert read == Counter(range(rows))
    assert all(0 < len(unit) <= batch for rank in uneven for unit in rank)
    assert max(map(len, uneven)) - min(map(len, uneven)) <= 1

    dropped = shares(rows, batch, ranks, "drop")
    read = Counter(place for rank in dropped for unit in rank for place in unit)
    assert read == Counter(range(rows // step * step))

    repeated = shares(rows, batch, ranks, "repeat")
    read = Counter(place for rank in repeated for unit in rank for place in unit)
    wanted = Counter(range(rows))
    wanted.update(place % rows for place in range(rows, -(-rows // step) * step) if rows)
    assert read == wanted
    assert len(set(map(len, repeated))) == 1
    assert all(len(unit) == batch for rank in repeated for unit in rank)


def test_steps_do_not_depend_on_how_ranks_divide_them() -> None:
    def steps(batch: int, ranks: int) -> list[list[int]]:
        units = zip(*shares(48, batch, ranks, "uneven"), strict=True)
        return [[place for rank in step for place in rank] for step in units]

    assert steps(4, 2) == steps(2, 4) == steps(8, 1)


@settings(max_examples=8)
@given(
    sizes=st.lists(st.integers(500, 6000), min_size=1, max_size=4),
    seed=st.integers(0, 5),
    data=st.data(),
)
def test_a_mixture_keeps_the_weights_and_reads_sources_in_full(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    weights = [data.draw(st.floats(0.01, 1)) for _ in sizes]
    rows = Mixture(sizes, weights, seed, shuffle=True)(np.arange(65536 + 500))
    firsts = np.cumsum(sizes) - sizes
    source = np.searchsorted(np.cumsum(sizes), rows, side="right")
    for i, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        mine = rows[source == i] - firsts[i]
        assert abs(len(mine) / len(rows) - weight / sum(weights)) < 0.008
        for begin in range(0, len(mine), size):
            once = np.unique(mine[begin : begin + size])
            assert len(once) == min(size, len(mine) - begin)


def test_passes_of_a_mixture_have_orders_of_their_own() -> None:
    def passes(*, shuffle: bool) -> list[list[int]]:
        rows = Mixture([100, 7], [1, 1], 0, shuffle=shuffle)(np.arange(65536))
        mine = rows[rows < 100]
        return [mine[begin : begin + 100].tolist() for begin in (0, 100)]

    first, second = passes(shuffle=True)
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert passes(shuffle=False) == [list(range(100))] * 2


def test_a_mixture_is_the_same_at_any_place() -> None:
    mixture = Mixture([50, 2000, 9000], [0.2, 0.3, 0.5], 3, shuffle=True)
    whole = mixture(np.arange(70_000))
    for begin in (0, 65_530, 69_990):
        assert np.array_equal(mixture(np.arange(begin, begin + 10)), whole[begin : begin + 10])


def test_even_the_smallest_weight_has_a_place() -> None:
    rows = Mixture([10, 10, 10], [1e-9, 1e-9, 1], 0, shuffle=False)(np.arange(65536))
    assert sorted(Counter((rows // 10).tolist()).values()) == [1, 1, 65534]


@pytest.mark.parametrize("weights", [[1.0], [1, 0], [1, -1], [1, float("inf")], [1, float("nan")]])
def test_wrong_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(OptionError, match="weights"):
        Mixture([1, 1], weights, 0, shuffle=True)


def test_remainders_are_named() -> None:
    assert REMAINDERS == ("uneven", "drop", "repeat")
