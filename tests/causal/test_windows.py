"""Rows, masks and labels against the slow, obvious twin, at every border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import causal as slow

from tokenmill._causal import windows
from tokenmill._causal.windows import DocumentCutter, Shape, StreamCutter, Table
from tokenmill._errors import OptionError
from tokenmill._pack import attention_mask, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

PAD = 999


@pytest.fixture(scope="module", params=[20, 1 << 22], autouse=True)
def most_tokens(request: pytest.FixtureRequest) -> Iterator[int]:
    """Tables of a few rows, and of all that there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "_MOST_TOKENS", request.param)
        yield request.param


@st.composite
def cuts(draw: st.DrawFn) -> slow.Cut:
    context_length = draw(st.integers(1, 9))
    return slow.Cut(
        context_length,
        draw(st.integers(0, context_length - 1)),
        draw(st.sampled_from(["pad", "carry", "drop"])),
        PAD,
        draw(st.booleans()),
        draw(st.sampled_from([-100, -1, 7])),
    )


# Lists of documents in batches: lengths around rows, empty documents and empty batches too.
batches = st.lists(st.lists(st.integers(0, 30), max_size=5), max_size=5)


def shape_of(cut: slow.Cut) -> Shape:
    return Shape(cut.context_length, cut.overlap, cut.tail, cut.pad_id)


def documents_of(lengths: list[list[int]]) -> list[list[list[int]]]:
    """Number the tokens, so that every one is known again."""
    numbers = iter(range(10_000))
    return [[[next(numbers) for _ in range(n)] for n in batch] for batch in lengths]


def flat(documents: list[list[int]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return np.array([i for document in documents for i in document], np.uint32)


def labels_of(table: Table, *, ignore_index: int, mask_overlap: bool) -> Any:
    return labels(
        table.ids,
        table.pieces,
        table.ids.shape[1],
        across_documents=True,
        repeats=table.repeats if mask_overlap else None,
        ignore_index=ignore_index,
        dtype="int32",
    )


def as_rows(table: Table, cut: slow.Cut, first_document: int = 0) -> list[slow.Row]:
    """Read a table as the twin writes it; rows that may be short are cut to their length."""
    masks = attention_mask(table.pieces, table.ids.shape[1], "int8")
    targets = labels_of(table, ignore_index=cut.ignore_index, mask_overlap=cut.mask_overlap)
    assert masks.dtype == np.int8
    assert targets.dtype == table.ids.dtype == np.int32
    rows = []
    for i in range(len(table)):
        end = int(table.lengths[i]) if cut.tail == "carry" else cut.context_length
        document = None if table.documents is None else int(table.documents[i]) + first_document
        ids, mask, target = (column[i, :end].tolist() for column in (table.ids, masks, targets))
        rows.append(slow.Row(ids, mask, target, document))
    return rows


@given(batches, cuts())
def test_the_stream_is_cut_as_the_twin_cuts_it(lengths: list[list[int]], cut: slow.Cut) -> None:
    batched = documents_of(lengths)
    cutter = StreamCutter(shape_of(cut))
    tables = [table for batch in batched for table in cutter.feed(flat(batch))]
    tables.append(cutter.finish())
    documents = [document for batch in batched for document in batch]
    expected = slow.packed_rows(documents, cut)
    assert [row for table in tables for row in as_rows(table, cut)] == expected
    kept = {i for row in expected for i, m in zip(row.ids, row.mask, strict=True) if m}
    assert cutter.dropped == sum(map(len, documents)) - len(kept)


@given(batches, cuts())
def test_documents_are_cut_as_the_twin_cuts_them(lengths: list[list[int]], cut: slow.Cut) -> None:
    cutter = DocumentCutter(shape_of(cut))
    rows, first = [], 0
    batched = documents_of(lengths)
    for batch in batched:
        for table in cutter.feed(flat(batch), np.array([len(d) for d in batch], np.int64)):
            rows += as_rows(table, cut, first)
        first += len(batch)
    documents = [document for batch in batched for document in batch]
    expected = slow.document_rows(documents, cut)
    assert rows == expected
    kept = {i for row in expected for i, m in zip(row.ids, row.mask, strict=True) if m}
    assert cutter.dropped == sum(map(len, documents)) - len(kept)


@given(batches, cuts())
def test_with_mask_overlap_every_kept_token_is_a_label_once(
    lengths: list[list[int]], cut: slow.Cut
) -> None:
    cut = cut._replace(mask_overlap=True, ignore_index=-100)
    cutter = StreamCutter(shape_of(cut))
    tables = [t for batch in documents_of(lengths) for t in cutter.feed(flat(batch))]
    tables.append(cutter.finish())
    counted = [i for table in tables for row in as_rows(table, cut) for i in row.labels if i >= 0]
    total = sum(map(sum, lengths))
    assert counted == list(range(total - cutter.dropped))


def test_a_full_table_shares_its_ids_with_its_labels() -> None:
    (table,) = StreamCutter(Shape(4)).feed(np.arange(12, dtype=np.uint32))
    found = labels_of(table, ignore_index=-100, mask_overlap=True)
    assert np.shares_memory(found, table.ids)


def test_a_short_end_of_the_stream_without_any_padding_token_is_an_error() -> None:
    cutter = StreamCutter(Shape(4, pad_id=None))
    assert list(cutter.feed(np.arange(3, dtype=np.uint32))) == []
    with pytest.raises(OptionError, match="pad: a row is short"):
        cutter.finish()


def test_a_short_document_without_any_padding_token_is_an_error() -> None:
    cutter = DocumentCutter(Shape(4, pad_id=None))
    with pytest.raises(OptionError, match="pad: a row is short"):
        list(cutter.feed(np.arange(3, dtype=np.uint32), np.array([3], np.int64)))


def test_the_nested_loop_that_is_timed_gives_the_same_labels() -> None:
    shape = Shape(8, overlap=3, pad_id=PAD)
    for table in DocumentCutter(shape).feed(np.arange(50, dtype=np.uint32), np.array([21, 29])):
        fast = labels_of(table, ignore_index=-100, mask_overlap=True)
        loops = slow.nested_loop_labels(
            table.ids.tolist(), table.lengths.tolist(), table.repeats.tolist()
        )
        assert fast.tolist() == loops


def test_short_documents_and_large_overlaps_make_no_giant_table(most_tokens: int) -> None:
    wide = Shape(60_000, pad_id=PAD)
    ids = np.arange(3000, dtype=np.uint32)
    tables = [*DocumentCutter(wide).feed(ids[:300], np.full(100, 3))]
    assert sum(map(len, tables)) == 100
    overlapping = Shape(1000, overlap=999, pad_id=PAD)
    found = [*StreamCutter(overlapping).feed(ids)]
    assert sum(map(len, found)) == 2001
    for table in (*tables, *found):
        assert table.ids.size <= max(most_tokens, table.ids.shape[1])
