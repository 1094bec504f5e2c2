"""TokenBatch: rows as views of one flat array."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tokenmill import TokenBatch

ROWS = [[0, 1], [], [2, 3, 4, 5, 6], [7, 8, 9]]


@pytest.fixture
def batch() -> TokenBatch:
    return TokenBatch(np.arange(10, dtype=np.uint32), np.array([0, 2, 2, 7, 10]))


def test_rows_are_views(batch: TokenBatch) -> None:
    assert [batch[i].tolist() for i in range(4)] == ROWS
    assert batch[-1].tolist() == ROWS[-1]
    assert batch[2].base is batch.ids
    assert [row.tolist() for row in batch] == ROWS == batch.tolist()


@pytest.mark.parametrize("index", [4, -5])
def test_a_row_that_is_not_there_is_an_index_error(batch: TokenBatch, index: int) -> None:
    with pytest.raises(IndexError, match="of a batch of 4"):
        batch[index]


@pytest.mark.parametrize(
    "part",
    [slice(None), slice(1, 3), slice(3, 1), slice(4, None), slice(None, None, -1), slice(0, 4, 2)],
)
def test_slices_are_those_of_a_list(batch: TokenBatch, part: slice) -> None:
    assert batch[part].tolist() == ROWS[part]
    assert batch[part].offsets[0] == 0
    assert len(batch[part].offsets) == len(ROWS[part]) + 1


def test_a_slice_shares_the_ids(batch: TokenBatch) -> None:
    assert np.shares_memory(batch[1:3].ids, batch.ids)


def test_batches_are_equal_by_content(batch: TokenBatch) -> None:
    assert batch == batch[:]
    assert batch != batch[1:]
    assert batch != ROWS


def test_arrow_reads_it_without_a_copy(batch: TokenBatch) -> None:
    array = pa.array(batch)
    assert array.type == pa.large_list(pa.uint32())
    assert array.to_pylist() == ROWS
    assert array.values.buffers()[1].address == batch.ids.ctypes.data


def test_the_representation_is_short(batch: TokenBatch) -> None:
    text = repr(batch)
    assert text == "TokenBatch(4 rows, 10 uint32 ids: [[0, 1], [], [2, 3, 4, ...], ...])"
