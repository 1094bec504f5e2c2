"""The dataset inside a DataLoader: workers, forks and spawns, tensors."""

from __future__ import annotations

import multiprocessing
import runpy
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.dataset.outputs import make_output

from tokenmill import OptionError, PackedDataset

if TYPE_CHECKING:
    from collections.abc import Iterable

torch = pytest.importorskip("torch", reason="the extra `test` has it")
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ROWS = 37
# Python warns of forks with threads, and the loader of more workers than cores.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]


@pytest.fixture(params=["bin", "arrow", "parquet"])
def dataset(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> PackedDataset:
    """Return a dataset in which the first id of row i is 8 * i + 1; tables have many groups."""
    monkeypatch.setattr("tokenmill._write.arrow.GROUP_TOKENS", 40)
    make_output(tmp_path, [8 * ROWS], form=request.param)
    return PackedDataset(tmp_path)


def rows_of(items: Iterable[dict[str, Any]]) -> list[list[int]]:
    return [((item["input_ids"][..., 0] - 1) // 8).reshape(-1).tolist() for item in items]


def loader_of(iterable: Any, workers: int, **options: Any) -> Any:
    return DataLoader(iterable, batch_size=None, num_workers=workers, **options)


def test_rows_are_tensors_and_a_loader_stacks_them(dataset: PackedDataset) -> None:
    row = dataset[3]
    assert row["input_ids"].dtype == torch.int64
    assert row["labels"].tolist() == [-100, *range(26, 33)]
    (batch,) = DataLoader(dataset, batch_size=ROWS)
    assert batch["input_ids"].shape == (ROWS, 8)
    assert torch.equal(batch["input_ids"], dataset.batch(range(ROWS))["input_ids"])
    assert isinstance(dataset.iterate(), IterableDataset)


@pytest.mark.parametrize("ranks", [1, 2])
def test_batches_are_the_same_for_every_number_of_workers(
    dataset: PackedDataset, ranks: int
) -> None:
    read: Counter[int] = Counter()
    for rank in range(ranks):
        batches = dataset.iterate(batch_size=4, rank=rank, ranks=ranks)
        wanted = rows_of(batches)
        for workers in (1, 3):
            batches.set_epoch(0)
            assert rows_of(loader_of(batches, workers)) == wanted
        read.update(row for batch in wanted for row in batch)
    assert read == Counter(range(ROWS))


def test_rows_that_the_loader_batches_are_read_once(dataset: PackedDataset) -> None:
    loader = DataLoader(dataset.iterate(), batch_size=1, num_workers=2)
    assert sorted(row for batch in rows_of(loader) for row in batch) == list(range(ROWS))


def test_a_place_can_be_resumed_at_with_another_number_of_workers(dataset: PackedDataset) -> None:
    wanted = rows_of(dataset.iterate(batch_size=4, seed=2))
    batches = dataset.iterate(batch_size=4, seed=2)
    assert rows_of(islice(loader_of(batches, 2), 3)) == wanted[:3]
    state = batches.state_dict(delivered=3)
    for workers in (0, 1, 3):
        resumed = dataset.iterate(batch_size=4, seed=2)
        resumed.load_state_dict(state)
        assert rows_of(loader_of(resumed, workers)) == wanted[3:]


def test_a_state_of_an_iterable_without_workers_suits_workers(dataset: PackedDataset) -> None:
    wanted = rows_of(dataset.iterate(batch_size=4))
    batches = dataset.iterate(batch_size=4)
    list(islice(batches, 3))
    resumed = dataset.iterate(batch_size=4)
    resumed.load_state_dict(batches.state_dict())
    assert rows_of(loader_of(resumed, 2)) == wanted[3:]


def test_persistent_workers_go_on_to_the_next_epoch(dataset: PackedDataset) -> None:
    batches = dataset.iterate(batch_size=4)
    wanted = [rows_of(batches), rows_of(batches)]
    batches.set_epoch(0)
    loader = loader_of(batches, 2, persistent_workers=True)
    assert [rows_of(loader), rows_of(loader)] == wanted


def test_states_of_workers_are_resumed_by_the_same_workers(
    dataset: PackedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "tokenmill._dataset.iterable.worker_of_loader"
    wanted = rows_of(dataset.iterate(batch_size=4))
    states = []
    for worker in range(2):
        monkeypatch.setattr(place, lambda worker=worker: (worker, 2))
        batches = dataset.iterate(batch_size=4)
        assert rows_of(islice(batches, 2)) == wanted[worker::2][:2]
        states.append(batches.state_dict())
    for worker, state in enumerate(states):
        monkeypatch.setattr(place, lambda worker=worker: (worker, 2))
        resumed = dataset.iterate(batch_size=4)
        resumed.load_state_dict(state)
        assert rows_of(resumed) == wanted[worker::2][2:]
    monkeypatch.setattr(place, lambda: (0, 3))
    resumed = dataset.iterate(batch_size=4)
    resumed.load_state_dict(states[0])
    with pytest.raises(OptionError, match="expected worker 0 of 2, got 0 of 3"):
        list(resumed)


@pytest.mark.slow
def test_spawned_processes_map_the_files_anew(dataset: PackedDataset) -> None:
    batches = dataset.iterate(batch_size=8)
    wanted = rows_of(batches)
    batches.set_epoch(0)
    context = multiprocessing.get_context("spawn")
    assert rows_of(loader_of(batches, 1, multiprocessing_context=context)) == wanted


def test_the_example_learns(tmp_path: Path) -> None:
    make_output(tmp_path, [40] * 30, context_length=16, first_id=0, repeat_after=12)
    train = runpy.run_path(str(ROOT / "examples" / "train_tiny.py"))["train"]
    losses = train(tmp_path)
    assert len(losses) == 60
    assert losses[0] > 2  # ln 12 is 2.5: it knows nothing
    assert losses[-1] < losses[0] / 4


def test_borders_of_a_batch_are_those_of_its_rows(tmp_path: Path) -> None:
    make_output(tmp_path, [3, 7], context_length=4)
    dataset = PackedDataset(tmp_path, columns=["input_ids", "cu_seqlens"])
    (batch,) = dataset.iterate(batch_size=3, shuffle=False)
    assert batch["cu_seqlens"].tolist() == [0, 3, 4, 8, 10, 12]
    assert batch["cu_seqlens"].dtype == torch.int32
