"""Packer: every strategy against the slow reference; nothing is lost without being counted."""

from __future__ import annotations

import pickle
import random
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import packing as reference

from tokenmill import OptionError, Packer, Pieces
from tokenmill._pack import STRATEGIES, concat_rows, concat_shape

if TYPE_CHECKING:
    from tokenmill._pack.packer import Long, Strategy

DOCUMENTS = st.lists(st.integers(0, 12), max_size=30)
SIZES = st.integers(1, 9)
OPTIONS: list[dict[str, Any]] = [
    {"strategy": "concat"},
    {"strategy": "concat", "overlap": 1},
    {"strategy": "concat", "tail": "drop"},
    {"strategy": "bestfit"},
    {"strategy": "bestfit", "long": "truncate"},
    {"strategy": "bestfit", "long": "drop"},
    {"strategy": "bos-bestfit-crop"},
    {"strategy": "bos-bestfit-crop", "tail": "drop"},
    {"strategy": "pad"},
    {"strategy": "pad", "long": "truncate"},
    {"strategy": "pad", "long": "drop"},
]


def check_books(pieces: Pieces, lengths: list[int]) -> None:
    """Every token is in a row or is dropped; dropped and repeated are exact."""
    placed = list(chain.from_iterable(reference.rows_of(pieces)))
    assert len(placed) - len(set(placed)) == pieces.repeated
    assert set(placed) <= set(chain.from_iterable(reference.document_tokens(lengths)))
    assert len(set(placed)) + pieces.dropped == sum(lengths)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=30)
@given(lengths=DOCUMENTS, size=st.integers(2, 9))
def test_nothing_is_lost_without_being_counted(
    options: dict[str, Any], lengths: list[int], size: int
) -> None:
    pieces = Packer(context_length=size, **options).pack(lengths)
    check_books(pieces, lengths)
    assert pieces.row_lengths.max(initial=0) <= size
    assert (pieces.lengths > 0).all()


@given(lengths=DOCUMENTS, size=SIZES, overlap=st.integers(0, 8), drop=st.booleans())
def test_concat_is_the_stream_cut(lengths: list[int], size: int, overlap: int, drop: bool) -> None:
    overlap %= size
    tail = "drop" if drop else "carry"
    pieces = Packer("concat", size, overlap=overlap, tail=tail).pack(lengths)  # type: ignore[arg-type]
    rows = reference.rows_of(pieces)
    assert rows == reference.concat(lengths, size, overlap, drop_tail=drop)
    check_books(pieces, lengths)
    shape = concat_shape(sum(lengths), size, overlap, tail=tail)
    assert (shape.rows, shape.dropped, shape.repeated) == (
        pieces.rows, pieces.dropped, pieces.repeated,
    )  # fmt: skip


@given(lengths=DOCUMENTS, size=SIZES, overlap=st.integers(0, 8), data=st.data())
def test_rows_of_a_part_of_the_stream_are_those_of_the_whole(
    lengths: list[int], size: int, overlap: int, data: st.DataObject
) -> None:
    overlap %= size
    whole = reference.concat(lengths, size, overlap, drop_tail=False)
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, len(whole)))
    first, last = 0, len(lengths)
    if begin < end:
        first = data.draw(st.integers(0, whole[begin][0][0]))
        last = data.draw(st.integers(whole[end - 1][-1][0] + 1, len(lengths)))
    part = concat_rows(lengths[first:last], sum(lengths[:first]), begin, end, size, overlap)
    rows = [[(document + first, i) for document, i in row] for row in reference.rows_of(part)]
    assert rows == whole[begin:end]
    assert part.repeated == overlap * sum(r > 0 for r in range(begin, end))


def test_parts_of_the_stream_repeat_as_much_as_the_whole() -> None:
    lengths = [5, 1, 9, 30, 2]
    whole = Packer("concat", 8, overlap=3).pack(lengths)
    parts = [concat_rows(lengths, 0, r, r + 1, 8, 3) for r in range(whole.rows)]
    assert sum(part.repeated for part in parts) == whole.repeated > 0


@pytest.mark.parametrize(
    ("begin", "rows"), [(0, (0, 3)), (5, (0, 1)), (0, (-1, 1)), (0, (1, 0)), (0, (2**61, 2**62))]
)
def test_rows_outside_of_the_stream_are_refused(begin: int, rows: tuple[int, int]) -> None:
    with pytest.raises(OptionError, match="expected"):
        concat_rows([4, 3], begin, *rows, 4)


@given(lengths=DOCUMENTS, size=SIZES, long=st.sampled_from(["split", "truncate", "drop"]))
def test_best_fit_is_that_of_the_reference(lengths: list[int], size: int, long: Long) -> None:
    pieces = Packer("bestfit", size, long=long).pack(lengths)
    assert reference.rows_of(pieces) == reference.best_fit(lengths, size, long)


@given(lengths=DOCUMENTS, size=SIZES, drop=st.booleans())
def test_cropping_is_that_of_the_reference(lengths: list[int], size: int, drop: bool) -> None:
    packer = Packer("bos-bestfit-crop", size, tail="drop" if drop else "carry")
    pieces = packer.pack(lengths)
    assert reference.rows_of(pieces) == reference.best_fit_crop(lengths, size, drop_tail=drop)
    assert (pieces.begins == 0).all()
    assert (pieces.row_lengths < size).sum() <= 1


@pytest.mark.parametrize("size", [63, 64, 65, 4095, 4096, 4097, 300_000])
def test_long_rows_and_many_documents_fit_as_in_the_reference(size: int) -> None:
    chosen = random.Random(size)  # noqa: S311
    lengths = [chosen.randint(0, size * 5 // 4) for _ in range(60)]
    lengths += [chosen.randint(1, size // 8) for _ in range(90)]
    chosen.shuffle(lengths)
    for long in ("split", "drop"):
        pieces = Packer("bestfit", size, long=long).pack(lengths)
        assert summary(pieces) == fast_best_fit(lengths, size, long)
    crop = Packer("bos-bestfit-crop", size).pack(lengths)
    assert crop.row_lengths.sum() + crop.dropped == sum(lengths)
    assert (crop.row_lengths < size).sum() <= 1


def summary(pieces: Pieces) -> list[list[tuple[int, int]]]:
    return [
        [(int(pieces.documents[p]), int(pieces.lengths[p])) for p in range(*map(int, bounds))]
        for bounds in zip(pieces.row_pieces[:-1], pieces.row_pieces[1:], strict=True)
    ]


def fast_best_fit(lengths: list[int], size: int, long: str) -> list[list[tuple[int, int]]]:
    """Return the reference's rows as (document, length), without a list entry for every token."""
    cuts: list[tuple[int, int, int]] = []
    for document, n in enumerate(lengths):
        if long == "split" or n <= size:
            cuts += [(document, b, min(size, n - b)) for b in range(0, n, size)]
    rows: list[list[tuple[int, int, int]]] = []
    filled: list[int] = []
    for step, piece in enumerate(sorted(cuts, key=lambda cut: (-cut[2], cut))):
        used = [sum(cut[2] for cut in row) for row in rows]
        fitting = [r for r in range(len(rows)) if used[r] + piece[2] <= size]
        if fitting:
            best = max(fitting, key=lambda r: (used[r], filled[r]))
            rows[best].append(piece)
            filled[best] = step
        else:
            rows.append([piece])
            filled.append(step)
    ordered = sorted(sorted(row) for row in rows)
    return [[(document, n) for document, _, n in row] for row in ordered]


@given(lengths=DOCUMENTS, size=SIZES, long=st.sampled_from(["split", "truncate", "drop"]))
def test_pad_gives_each_document_rows_of_its_own(lengths: list[int], size: int, long: Long) -> None:
    pieces = Packer("pad", size, long=long).pack(lengths)
    assert reference.rows_of(pieces) == reference.cut(lengths, size, long)


@given(lengths=DOCUMENTS)
def test_none_keeps_documents_as_they_are(lengths: list[int]) -> None:
    pieces = Packer("none").pack(lengths)
    assert pieces.row_lengths.tolist() == lengths
    assert pieces.documents.tolist() == list(range(len(lengths)))
    assert pieces.dropped == pieces.repeated == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_documents_give_no_rows(strategy: Strategy) -> None:
    size = None if strategy == "none" else 8
    pieces = Packer(strategy, size).pack([])
    assert pieces.rows == 0
    assert pieces.row_pieces.tolist() == [0]
    assert pieces.row_lengths.tolist() == []


def test_lengths_may_be_any_array_of_whole_numbers() -> None:
    wanted = Packer("concat", 4).pack([3, 4]).lengths.tolist()
    assert wanted == [3, 1, 3]
    for dtype in ("int32", "uint16", "uint64"):
        assert Packer("concat", 4).pack(np.array([3, 4], dtype)).lengths.tolist() == wanted
    assert Packer("concat", 4).pack(np.array([3, 9, 4, 9])[::2]).lengths.tolist() == wanted


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("best", 8), {}),
        (("concat", 0), {}),
        (("concat", None), {}),
        (("concat", "8"), {}),
        (("none", 8), {}),
        (("concat", 8), {"overlap": 8}),
        (("concat", 8), {"overlap": -1}),
        (("bestfit", 8), {"overlap": 1}),
        (("bestfit", 8), {"tail": "drop"}),
        (("concat", 8), {"long": "drop"}),
        (("concat", 8), {"tail": "lose"}),
        (("pad", 8), {"long": "lose"}),
    ],
    ids=str,
)
def test_an_option_without_meaning_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(OptionError):
        Packer(*arguments, **options)


@pytest.mark.parametrize("lengths", [[1, -1], [0.5], [[1]], [2**62, 2**62, 2**62], ["a"]], ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lengths_that_are_none_are_refused(strategy: Strategy, lengths: list[Any]) -> None:
    with pytest.raises(OptionError):
        Packer(strategy, None if strategy == "none" else 2**24).pack(lengths)


def test_rows_longer_than_the_fit_can_count_are_refused() -> None:
    assert Packer("bestfit", 2**24).pack([2**24, 5, 2**24 - 5]).rows == 2
    for strategy in ("bestfit", "bos-bestfit-crop"):
        with pytest.raises(OptionError, match="at most 16777216"):
            Packer(strategy, 2**24 + 1).pack([1])
    assert Packer("concat", 2**40).pack([2**39, 2**40]).lengths.tolist() == [2**39, 2**39, 2**39]


def test_more_pieces_than_the_fit_can_count_are_refused_at_once() -> None:
    with pytest.raises(OptionError, match="pieces"):
        Packer("bestfit", 1).pack([2**40])


def test_a_packer_crosses_processes_and_shows_what_it_is() -> None:
    packer = pickle.loads(pickle.dumps(Packer("concat", 8, overlap=1)))  # noqa: S301
    assert repr(packer) == "Packer('concat', 8, overlap=1, long='split', tail='carry')"
