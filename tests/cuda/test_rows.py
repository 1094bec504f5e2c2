"""Rows of the device against those of the CPU's packer, element by element."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cuda.fake_encoder import RowShim, build_rows

from tokenmill import OptionError, Packer, Pieces
from tokenmill._cuda.row_packer import DeviceRowPacker
from tokenmill._dataset.columns import Columns
from tokenmill._pack import COLUMNS, RowLooks, frame, gather
from tokenmill._pack.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._cuda.rows import DeviceRows
    from tokenmill._pack.packer import Long, Strategy, Tail

BOS, EOS, PAD = 900_001, 900_002, 900_003


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_rows(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def one_block(library: Path) -> RowShim:
    return RowShim(library)


@pytest.fixture(scope="module", params=[None, 7], ids=["in order", "shuffled blocks"])
def backend(library: Path, request: pytest.FixtureRequest) -> RowShim:
    return RowShim(library, request.param)


class Case:
    """Documents in batches, and what the CPU makes of them."""

    def __init__(
        self, batches: Sequence[Sequence[int]], bos: int | None = None, eos: int | None = None
    ) -> None:
        self.bos, self.eos = bos, eos
        self.batches = []
        first = 0
        for lengths in batches:
            offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
            self.batches.append((np.arange(offsets[-1], dtype=np.uint32) + first, offsets))
            first += int(offsets[-1])

    def framed(self, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        ids, offsets = self.batches[number]
        around = [[] if token is None else [token] for token in (self.bos, self.eos)]
        return frame(ids, offsets, *around)

    def groups(self, strategy: str) -> list[tuple[NDArray[Any], NDArray[np.int64]]]:
        """Return what is packed at once: everything in concat, else each batch."""
        framed = [self.framed(number) for number in range(len(self.batches))]
        if strategy != "concat":
            return framed
        ids, lengths = zip(*framed, strict=True)
        return [(np.concatenate(ids), np.concatenate(lengths))]

    def wanted(self, packer: Packer, columns: Columns) -> list[tuple[Pieces, dict[str, Any]]]:
        found = []
        for ids, lengths in self.groups(packer.strategy):
            pieces = packer.pack(lengths)
            begins = np.concatenate(([0], np.cumsum(lengths)))[pieces.documents] + pieces.begins
            out = np.empty(int(pieces.lengths.sum()), np.uint32)
            gather([ids], np.zeros(len(begins), np.int32), begins, pieces.lengths, out)
            found.append((pieces, columns.of(Rows(out, pieces))))
        return found

    def packed(self, packer: DeviceRowPacker, backend: RowShim) -> list[DeviceRows]:
        made = []
        for ids, offsets in self.batches:
            given = backend.asarray(ids)
            made.append(packer.add(given, offsets))
            given[:] = 77  # a batch's memory is used again by the next one
        made.append(packer.finish())
        return [rows for rows in made if rows is not None]


def columns_of(packer: Packer, **options: Any) -> Columns:
    return Columns(RowLooks(COLUMNS, **options), packer.context_length, PAD)


def device_packer(
    backend: RowShim,
    packer: Packer,
    case: Case,
    **options: Any,
) -> DeviceRowPacker:
    return DeviceRowPacker(
        backend,
        packer,
        bos_id=case.bos,
        eos_id=case.eos,
        pad_id=PAD,
        **{"columns": COLUMNS, **options},
    )


def check(backend: RowShim, case: Case, packer: Packer, **options: Any) -> None:
    device = device_packer(backend, packer, case, **options)
    made = case.packed(device, backend)
    looks = {k: v for k, v in options.items() if k not in ("batch_rows", "dtype")}
    wanted = case.wanted(packer, columns_of(packer, **looks))
    for name in COLUMNS:
        if name == "cu_seqlens":
            continue
        table = np.concatenate([table[name] for _, table in wanted])
        found = [rows[name] for rows in made]
        assert np.array_equal(np.concatenate(found) if found else table[:0], table), name
        dtype = "int32" if name == "segment_ids" else options.get("dtype", "int64")
        assert {column.dtype for column in found} <= {np.dtype(dtype)}
    borders = [np.diff(rows["cu_seqlens"]) for rows in made]
    expected = [np.diff(table["cu_seqlens"]) for _, table in wanted]
    assert np.concatenate([[], *borders]).tolist() == np.concatenate([[], *expected]).tolist()
    rows = device.rows
    assert rows == sum(pieces.rows for pieces, _ in wanted)
    assert device.dropped == sum(pieces.dropped for pieces, _ in wanted)
    assert device.repeated == sum(pieces.repeated for pieces, _ in wanted)
    books = device.tokens + device.padding + device.repeated - device.dropped
    assert books == rows * (packer.context_length or 0)


TAILS: tuple[Tail, ...] = ("carry", "pad", "drop")
LENGTHS = st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=4)
AROUND = st.tuples(st.sampled_from([None, BOS]), st.sampled_from([None, EOS]))


LOOKS = st.fixed_dictionaries(
    {
        "batch_rows": st.integers(1, 3),
        "shifted_labels": st.booleans(),
        "continue_positions": st.booleans(),
        "ignore_index": st.sampled_from([-100, -1]),
        "dtype": st.sampled_from(["int32", "int64"]),
    }
)
PACKERS = st.builds(
    Packer,
    st.sampled_from(["concat", "bestfit", "bos-bestfit-crop", "pad"]),
    st.integers(1, 7),
)


@st.composite
def overlapping(draw: st.DrawFn) -> Packer:
    """Draw a packer of concat with any overlap and tail."""
    width = draw(st.integers(1, 7))
    tail = draw(st.sampled_from(TAILS))
    return Packer("concat", width, overlap=draw(st.integers(0, width - 1)), tail=tail)


@given(lengths=LENGTHS, around=AROUND, packer=PACKERS, looks=LOOKS)
@settings(max_examples=300)
def test_every_column_is_that_of_the_cpu(
    one_block: RowShim,
    lengths: list[list[int]],
    around: tuple[int | None, int | None],
    packer: Packer,
    looks: dict[str, Any],
) -> None:
    check(one_block, Case(lengths, *around), packer, **looks)


@given(lengths=LENGTHS, packer=overlapping(), batch_rows=st.integers(1, 3))
@settings(max_examples=200)
def test_concat_carries_over_batches_with_overlap_and_every_tail(
    one_block: RowShim, lengths: list[list[int]], packer: Packer, batch_rows: int
) -> None:
    check(one_block, Case(lengths, BOS, EOS), packer, batch_rows=batch_rows)


@pytest.mark.parametrize("long", ["split", "truncate", "drop"])
@pytest.mark.parametrize("strategy", ["bestfit", "pad"])
def test_long_documents_are_cut_as_the_cpu_cuts_them(
    backend: RowShim, strategy: Strategy, long: Long
) -> None:
    check(backend, Case([[30, 2, 7], [1, 19]], None, EOS), Packer(strategy, 8, long=long))


@pytest.mark.parametrize("strategy", ["concat", "bestfit"])
def test_many_blocks_of_long_rows(backend: RowShim, strategy: Strategy) -> None:
    random = np.random.default_rng(5)
    batches = [random.geometric(1 / 300, 200).tolist() for _ in range(3)]
    check(backend, Case(batches, None, EOS), Packer(strategy, 1000), batch_rows=4)


def test_rows_come_as_soon_as_they_are_full(backend: RowShim) -> None:
    packer = DeviceRowPacker(backend, Packer("concat", 4), eos_id=EOS, batch_rows=2)
    ids = backend.asarray(np.arange(6, dtype=np.int32))
    assert packer.add(ids, [0, 6]) is None  # one full row is too few
    rows = packer.add(ids, [0, 0, 6])
    assert rows is not None
    assert rows["input_ids"].tolist() == [[0, 1, 2, 3], [4, 5, EOS, EOS]]
    assert rows["labels"].tolist() == [[-100, 1, 2, 3], [-100, 5, EOS, -100]]
    last = packer.finish()
    assert last is not None
    assert last["input_ids"].tolist() == [[0, 1, 2, 3], [4, 5, EOS, 0]]
    assert packer.finish() is None


def test_batches_of_rows_are_views_with_borders_of_their_own(backend: RowShim) -> None:
    packer = device_packer(backend, Packer("concat", 4), Case([]))
    rows = packer.add(backend.asarray(np.arange(20, dtype=np.uint32)), [0, 3, 9, 20])
    assert rows is not None
    assert [len(batch) for batch in rows.batches(2)] == [2, 2, 1]
    second = rows.some_rows(2, 4)
    assert np.shares_memory(second["input_ids"], rows["input_ids"])
    assert second["cu_seqlens"].tolist() == [0, 1, 4, 8]
    assert second.max_seqlen == 4
    assert rows["cu_seqlens"].tolist() == [0, 3, 4, 8, 9, 12, 16, 20]


def test_a_column_is_exported_without_a_copy(backend: RowShim) -> None:
    packer = DeviceRowPacker(backend, Packer("concat", 4), dtype="int32")
    rows = packer.add(backend.asarray(np.arange(8, dtype=np.int32)), [0, 8])
    assert rows is not None
    taken = np.from_dlpack(rows["input_ids"])
    assert taken.dtype == np.int32
    assert np.shares_memory(taken, rows["input_ids"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": ["tokens"]}, "columns: expected a list of 'input_ids'"),
        ({"columns": []}, "columns: expected a list"),
        ({"dtype": "int16"}, "dtype: expected one of 'int32', 'int64', got 'int16'"),
        ({"batch_rows": 0}, "batch_rows: expected 1 or more, got 0"),
    ],
)
def test_options_that_there_are_not(
    backend: RowShim, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(OptionError, match=complaint):
        DeviceRowPacker(backend, Packer("concat", 4), **options)


def test_documents_as_they_are_and_ids_of_two_bytes_are_refused(backend: RowShim) -> None:
    with pytest.raises(OptionError, match="rows of one length"):
        DeviceRowPacker(backend, Packer("none"))
    packer = DeviceRowPacker(backend, Packer("concat", 4))
    with pytest.raises(OptionError, match="ids: expected int32 or uint32, got uint16"):
        packer.add(np.zeros(3, np.uint16), [0, 3])


def test_offsets_on_the_device_are_fetched(backend: RowShim) -> None:
    class Foreign:
        """An array that is not the host's."""

    def to_host(array: object) -> NDArray[Any]:
        assert isinstance(array, Foreign)
        return np.array([0, 3, 4], np.uint32)

    fetching = copy(backend)
    fetching.to_host = to_host  # type: ignore[method-assign]
    packer = DeviceRowPacker(fetching, Packer("concat", 2))
    rows = packer.add(backend.asarray(np.arange(4, dtype=np.int32)), Foreign())
    assert rows is not None
    assert rows["labels"].tolist() == [[-100, 1], [-100, -100]]


def test_addresses_are_aligned_and_numbers_do_not_overflow(tmp_path: Path) -> None:
    backend = RowShim(build_rows(tmp_path, "undefined"))
    check(backend, Case([[5, 0, 3], [], [9]], BOS, EOS), Packer("concat", 3, overlap=1))
