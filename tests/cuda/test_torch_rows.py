"""Rows as tensors: what a DataLoader takes, and the example that trains on them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.fake_encoder import CpuEncoder, RowShim, build_rows

import tokenmill.cuda
from tokenmill import Tokenizer
from tokenmill._mill.device.rows import DeviceRowStream

if TYPE_CHECKING:
    from tokenmill._cuda.encoder import DeviceEncoder

torch = pytest.importorskip("torch", reason="the extra `test` has it")
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_on_gpu.py"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> DeviceEncoder:
    backend = RowShim(build_rows(tmp_path_factory.mktemp("rows")))
    return CpuEncoder(Tokenizer.load(), backend)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_batches_are_tensors_that_a_loader_hands_on(
    encoder: DeviceEncoder, example: dict[str, Any]
) -> None:
    rows = example["open_rows"](encoder=encoder)
    assert isinstance(rows, IterableDataset)
    plain = DeviceRowStream(
        example["SAMPLE"],
        context_length=64,
        batch_size=8,
        shifted_labels=True,
        shuffle=True,
        encoder=encoder,
    )
    for batch, wanted in zip(DataLoader(rows, batch_size=None), plain, strict=True):
        assert batch["input_ids"].dtype == torch.int64
        for name, table in wanted.items():
            assert np.array_equal(batch[name].numpy(), table)


def test_the_example_learns(encoder: DeviceEncoder, example: dict[str, Any]) -> None:
    rows = tokenmill.cuda.GpuRowDataset(
        example["SAMPLE"], context_length=16, batch_size=4, shifted_labels=True, encoder=encoder
    )
    losses = example["train"](rows, steps=40)
    assert len(losses) == 40
    assert losses[0] > 9  # ln 32000 is 10.4: it knows nothing
    assert losses[-1] < losses[0] - 1
