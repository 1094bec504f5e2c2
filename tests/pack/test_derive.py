"""Positions, segments, borders and labels against a reference that looks at every token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import packing as reference

from tokenmill import OptionError, Packer, Pieces
from tokenmill._pack import (
    attention_mask,
    cu_seqlens,
    labels,
    pad_rows,
    position_ids,
    segment_ids,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._pack.packer import Strategy

DOCUMENTS = st.lists(st.integers(0, 9), max_size=20)
PACKERS = st.sampled_from(["concat", "bestfit", "bos-bestfit-crop", "pad"])


def padded(rows: list[list[int]], width: int, fill: int) -> list[list[int]]:
    return [row + [fill] * (width - len(row)) for row in rows]


@given(lengths=DOCUMENTS, strategy=PACKERS, size=st.integers(1, 7), extra=st.integers(0, 2))
def test_all_that_is_derived_is_that_of_the_reference(
    lengths: list[int], strategy: Strategy, size: int, extra: int
) -> None:
    pieces = Packer(strategy, size).pack(lengths)
    rows, width = reference.rows_of(pieces), size + extra
    row_ids = [[100 * document + place for document, place in row] for row in rows]
    ids = np.array([i for row in row_ids for i in row], np.uint16)

    def check(table: NDArray[Any], wanted: list[list[int]], fill: int) -> None:
        assert table.tolist() == padded(wanted, width, fill)

    check(pad_rows(ids, pieces, width, 3), row_ids, 3)
    check(segment_ids(pieces, width), [reference.segments(row) for row in rows], 0)
    check(attention_mask(pieces, width), [[1] * len(row) for row in rows], 0)
    for continues in (False, True):
        wanted = [reference.positions(row, continue_documents=continues) for row in rows]
        check(position_ids(pieces, width, continue_documents=continues), wanted, 0)
    hf = [reference.hf_labels(row, i, -100) for row, i in zip(rows, row_ids, strict=True)]
    check(labels(ids, pieces, width), hf, -100)
    shifted = [reference.shifted_labels(row, i, -1) for row, i in zip(rows, row_ids, strict=True)]
    check(labels(ids, pieces, width, shifted=True, ignore_index=-1), shifted, -1)
    check(labels(ids, pieces, width, across_documents=True), row_ids, -100)
    after = [[*i[1:], -100][: len(i)] for i in row_ids]
    check(labels(ids, pieces, width, across_documents=True, shifted=True), after, -100)


@given(lengths=DOCUMENTS, strategy=PACKERS, size=st.integers(1, 7), extra=st.integers(0, 2))
def test_a_table_with_padding_has_the_labels_of_its_tokens(
    lengths: list[int], strategy: Strategy, size: int, extra: int
) -> None:
    pieces = Packer(strategy, size).pack(lengths)
    ids = np.arange(int(pieces.lengths.sum()), dtype=np.int32)
    width = size + extra
    table = pad_rows(ids, pieces, width, 77, "int32")
    before = table.copy()
    repeats = np.minimum(pieces.row_lengths, np.arange(pieces.rows) % 3)
    for across in (False, True):
        for shifted in (False, True):
            for repeated in (None, repeats):
                found = [
                    labels(
                        given_ids,
                        pieces,
                        width,
                        across_documents=across,
                        shifted=shifted,
                        repeats=repeated,
                        dtype="int32",
                    )
                    for given_ids in (ids, table)
                ]
                assert found[0].tolist() == found[1].tolist()
    assert table.tolist() == before.tolist()
    assert ids.tolist() == list(range(len(ids)))


def test_repeated_tokens_are_no_labels() -> None:
    pieces = Packer("concat", 3, overlap=2).pack([3, 2])
    ids = np.array([5, 6, 7, 6, 7, 8, 7, 8, 9], np.int32)
    repeats = np.array([0, 2, 2])

    def found(**options: Any) -> list[list[int]]:
        table: list[list[int]] = labels(ids, pieces, 3, repeats=repeats, **options).tolist()
        return table

    assert found(across_documents=True) == [[5, 6, 7], [-100, -100, 8], [-100, -100, 9]]
    # Each label is the token after its column: 6 -> 7 is in the first row, so not in the second.
    wanted = [[6, 7, -100], [-100, 8, -100], [-100, 9, -100]]
    assert found(across_documents=True, shifted=True) == wanted


def test_labels_across_documents_of_full_rows_are_the_ids() -> None:
    pieces = Packer("concat", 2).pack([3, 1])
    ids = np.array([5, 6, 7, 8], np.int32)
    found = labels(ids, pieces, 2, across_documents=True, dtype="int32")
    assert found.tolist() == [[5, 6], [7, 8]]
    assert np.shares_memory(found, ids)


@given(lengths=DOCUMENTS, strategy=PACKERS, size=st.integers(1, 7), extra=st.integers(0, 2))
def test_cu_seqlens_are_the_borders_of_the_segments(
    lengths: list[int], strategy: Strategy, size: int, extra: int
) -> None:
    pieces = Packer(strategy, size).pack(lengths)
    width = size + extra
    table = segment_ids(pieces, width)
    flat = [(r, int(s)) for r, row in enumerate(table) for s in row]
    borders = [i for i in range(len(flat)) if i == 0 or flat[i] != flat[i - 1]]
    wanted = sorted({0, *borders, len(flat)})
    assert cu_seqlens(pieces, width).tolist() == wanted
    without_padding = [place for place in flat if place[1]]
    wanted = [i for i, place in enumerate(without_padding) if without_padding.index(place) == i]
    assert cu_seqlens(pieces).tolist() == sorted({0, *wanted, len(without_padding)})


def test_the_example_of_the_documentation() -> None:
    documents, begins = np.arange(3), np.zeros(3, np.int64)
    pieces = Pieces(documents, begins, np.array([3, 4, 2]), np.array([0, 2, 3]))
    assert cu_seqlens(pieces).tolist() == [0, 3, 7, 9]
    assert cu_seqlens(pieces, 8).tolist() == [0, 3, 7, 8, 10, 16]


def test_labels_leave_the_ids_alone() -> None:
    pieces = Packer("concat", 2).pack([3])
    ids = np.array([5, 6, 7])
    assert labels(ids, pieces, 2).tolist() == [[-100, 6], [-100, -100]]
    assert ids.tolist() == [5, 6, 7]


def test_a_row_wider_than_the_table_is_refused() -> None:
    pieces = Packer("none").pack([4, 2])
    with pytest.raises(OptionError, match="at most 3 tokens, got one of 4"):
        position_ids(pieces, 3)
