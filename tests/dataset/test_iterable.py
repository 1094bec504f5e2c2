"""PackedIterable: every row once over all ranks, and an epoch can be resumed from any place."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from tests.dataset.outputs import make_output

from tokenmill import OptionError, PackedDataset

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ROWS = 53


@pytest.fixture(params=["bin", "parquet"])
def dataset(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> PackedDataset:
    """Return a dataset in which the first id of row i is 8 * i + 1; tables have many groups."""
    monkeypatch.setattr("tokenmill._write.arrow.GROUP_TOKENS", 40)
    make_output(tmp_path, [8 * ROWS], form=request.param)
    return PackedDataset(tmp_path, torch=False)


def rows_of(items: Iterable[dict[str, Any]]) -> list[Any]:
    """Return the numbers of rows: one for each row, or a list for each batch."""
    found = []
    for item in items:
        ids = item["input_ids"]
        found.append(((ids[..., 0] - 1) // 8).tolist())
    return found


def test_an_epoch_holds_every_row_once_in_another_order(dataset: PackedDataset) -> None:
    rows = dataset.iterate()
    assert len(rows) == ROWS
    first, second = rows_of(rows), rows_of(rows)
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    rows.set_epoch(0)
    assert rows_of(rows) == first
    assert rows_of(dataset.iterate(seed=1)) not in (first, second)
    assert rows_of(dataset.iterate(shuffle=False)) == list(range(ROWS))


@pytest.mark.parametrize("batch_size", [None, 1, 4])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_ranks_read_every_row_once(
    dataset: PackedDataset, ranks: int, batch_size: int | None
) -> None:
    read: Counter[int] = Counter()
    for rank in range(ranks):
        share = dataset.iterate(rank=rank, ranks=ranks, batch_size=batch_size)
        units = rows_of(share)
        assert len(units) == len(share)
        read.update(units if batch_size is None else [row for unit in units for row in unit])
    assert read == Counter(range(ROWS))


def test_the_rank_is_that_of_the_launcher(
    dataset: PackedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = rows_of(dataset.iterate(rank=2, ranks=4))
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert rows_of(dataset.iterate()) == wanted


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("weights", [None, [1.0]])
def test_an_epoch_can_be_resumed_at_any_place(
    dataset: PackedDataset, batch_size: int | None, weights: list[float] | None
) -> None:
    options: dict[str, Any] = {"batch_size": batch_size, "weights": weights, "seed": 5}
    whole = dataset.iterate(**options)
    epochs = [rows_of(whole), rows_of(whole), rows_of(whole)]
    for done in (0, 1, 5, len(epochs[1]) - 1, len(epochs[1])):
        running = dataset.iterate(**options)
        running.set_epoch(1)
        iterator = iter(running)
        assert rows_of(islice(iterator, done)) == epochs[1][:done]
        state = json.loads(json.dumps(running.state_dict()))
        resumed = dataset.iterate(**options)
        resumed.load_state_dict(state)
        assert rows_of(resumed) == epochs[1][done:]
        assert rows_of(resumed) == epochs[2]


def test_a_state_counts_what_was_delivered(dataset: PackedDataset) -> None:
    wanted = rows_of(dataset.iterate())
    asked = dataset.iterate()
    for done in (3, 5):  # the second time after a resume
        asked.load_state_dict(asked.state_dict(delivered=done))
    assert rows_of(asked) == wanted[8:]


def test_a_new_iteration_begins_the_epoch_again(dataset: PackedDataset) -> None:
    rows = dataset.iterate()
    wanted = rows_of(islice(rows, 10))
    assert rows_of(rows)[:10] == wanted


def test_a_state_of_another_order_is_refused(dataset: PackedDataset) -> None:
    state = dataset.iterate(batch_size=4, rank=1, ranks=2).state_dict(delivered=3)
    others: list[dict[str, Any]] = [
        {"seed": 1}, {"shuffle": False}, {"remainder": "drop"}, {"batch_size": 3},
        {"weights": [1.0]},
    ]  # fmt: skip
    for other in others:
        with pytest.raises(OptionError, match="expected the"):
            dataset.iterate(**{"batch_size": 8, **other}).load_state_dict(state)


def test_a_state_may_be_resumed_by_other_ranks_if_steps_stay_as_large(
    dataset: PackedDataset,
) -> None:
    state = dataset.iterate(batch_size=4, rank=1, ranks=2).state_dict(delivered=3)
    resumed = dataset.iterate(batch_size=8)
    resumed.load_state_dict(state)
    assert rows_of(resumed) == rows_of(dataset.iterate(batch_size=8))[3:]


def test_outputs_are_mixed_by_weight(tmp_path: Path) -> None:
    make_output(tmp_path / "a", [8 * 300])
    make_output(tmp_path / "b", [8 * 100], first_id=8 * 300 + 1)
    dataset = PackedDataset([tmp_path / "a", tmp_path / "b"], torch=False)
    mixed = dataset.iterate(weights=[1, 3], epoch_rows=200)
    epochs = [rows_of(mixed) for _ in range(4)]
    assert [len(epoch) for epoch in epochs] == [200] * 4
    rows = [row for epoch in epochs for row in epoch]
    small = [row for row in rows if row >= 300]
    assert abs(len(small) - 600) < 75  # six standard deviations
    large = [row for row in rows if row < 300]
    assert len(set(large)) == len(large)
    assert all(len(set(small[i : i + 100])) == len(small[i : i + 100]) for i in range(0, 600, 100))


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 1}, {"ranks": 2}, {"rank": 2, "ranks": 2}, {"rank": -1, "ranks": 2},
        {"batch_size": 0}, {"remainder": "lose"}, {"epoch_rows": 5}, {"weights": [1, 2]},
        {"weights": [1], "epoch_rows": 0},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_options_are_refused(dataset: PackedDataset, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        dataset.iterate(**options)
