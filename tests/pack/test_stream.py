"""The stream in batches against the packer that has all documents at once; joined rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import packing as reference

from tokenmill import Packer, Pieces
from tokenmill._pack import ConcatStream

BATCHES = st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6)


def fields(pieces: Pieces) -> list[list[int]]:
    found = (pieces.documents, pieces.begins, pieces.lengths, pieces.row_pieces)
    return [field.tolist() for field in found]


@st.composite
def cuts(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.integers(1, 9))
    overlap = draw(st.integers(0, size - 1))
    return {"context_length": size, "overlap": overlap, "tail": draw(st.sampled_from(TAILS))}


TAILS = ["carry", "pad", "drop"]


@given(BATCHES, cuts(), st.integers(1, 3), st.sampled_from([None, 1, 3]), st.booleans())
def test_batches_give_the_rows_of_all_documents_at_once(
    batches: list[list[int]], cut: dict[str, Any], multiple: int, most: int | None, forgets: bool
) -> None:
    stream = ConcatStream(**cut)
    parts, first = [], 0  # the number of the first document that the stream still holds
    for lengths in batches:
        stream.add(lengths)
        limit = most if most is None else most * multiple
        while (pieces := stream.full_rows(multiple, limit)).rows:
            assert pieces.rows % multiple == 0
            assert limit is None or pieces.rows <= limit
            assert (pieces.row_lengths == cut["context_length"]).all()
            parts.append(pieces.renumbered(first))
        if forgets:
            first += stream.forget()[0]
    parts.append(stream.finish().renumbered(first))
    every = [length for lengths in batches for length in lengths]
    expected = Packer("concat", **cut).pack(every)
    assert fields(Pieces.join(parts)) == fields(expected)
    assert (stream.dropped, stream.repeated) == (expected.dropped, expected.repeated)


@given(BATCHES, cuts())
def test_what_is_not_forgotten_is_what_later_rows_need(
    batches: list[list[int]], cut: dict[str, Any]
) -> None:
    stream = ConcatStream(**cut)
    stride, rows, first = cut["context_length"] - cut["overlap"], 0, 0
    tokens = reference.document_tokens([n for lengths in batches for n in lengths])
    given_tokens = 0
    for lengths in batches:
        stream.add(lengths)
        given_tokens += sum(lengths)
        rows += stream.full_rows().rows
        gone, rest = stream.forget()
        first += gone
        every = [token for document in tokens for token in document][:given_tokens]
        held = reference.rows_of(rest.renumbered(first))
        assert held == [every[rows * stride :]]


def test_a_finished_stream_starts_again_and_keeps_its_counts() -> None:
    stream = ConcatStream(4, tail="drop")
    for _ in range(2):
        stream.add([6])
        assert fields(stream.full_rows()) == [[0], [0], [4], [0, 1]]
        assert stream.finish().rows == 0
    assert stream.dropped == 4


def test_joined_rows_are_those_of_all_parts() -> None:
    first = Packer("concat", 4).pack([3, 4])
    second = Packer("pad", 4, long="truncate").pack([9, 0, 1]).renumbered(2)
    joined = Pieces.join([first, second])
    assert reference.rows_of(joined) == reference.rows_of(first) + reference.rows_of(second)
    assert joined.documents.tolist() == [0, 1, 1, 2, 4]
    assert (joined.dropped, joined.repeated) == (5, 0)


def test_nothing_joined_is_no_row() -> None:
    joined = Pieces.join([])
    assert joined.rows == 0
    assert fields(joined) == [[], [], [], [0]]
    assert all(field.dtype == np.int64 for field in (joined.documents, joined.row_pieces))
