"""Packing, token by token: a row is a list of (document, place in it). Slow and obvious."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._pack.rows import Pieces

Row = list[tuple[int, int]]


def rows_of(pieces: Pieces) -> list[Row]:
    """Write the rows out."""
    rows = []
    for r in range(pieces.rows):
        row: Row = []
        for p in range(int(pieces.row_pieces[r]), int(pieces.row_pieces[r + 1])):
            begin, length = int(pieces.begins[p]), int(pieces.lengths[p])
            row += [(int(pieces.documents[p]), begin + i) for i in range(length)]
        rows.append(row)
    return rows


def document_tokens(lengths: Sequence[int]) -> list[Row]:
    return [[(document, i) for i in range(n)] for document, n in enumerate(lengths)]


def concat(lengths: Sequence[int], size: int, overlap: int, *, drop_tail: bool) -> list[Row]:
    stream = [token for document in document_tokens(lengths) for token in document]
    rows: list[Row] = []
    begin = 0
    while begin == 0 or begin + overlap < len(stream):
        rows.append(stream[begin : begin + size])
        begin += size - overlap
    return [row for row in rows if row and (len(row) == size or not drop_tail)]


def cut(lengths: Sequence[int], size: int, long: str) -> list[Row]:
    pieces: list[Row] = []
    for document in document_tokens(lengths):
        kept = document
        if len(document) > size and long != "split":
            kept = document[:size] if long == "truncate" else []
        pieces += [kept[i : i + size] for i in range(0, len(kept), size)]
    return pieces


def best_fit(lengths: Sequence[int], size: int, long: str) -> list[Row]:
    rows: list[list[Row]] = []
    filled: list[int] = []  # for each row, the step that filled it last
    by_length = sorted(cut(lengths, size, long), key=lambda piece: (-len(piece), piece[0]))
    for step, piece in enumerate(by_length):
        used = [sum(map(len, row)) for row in rows]
        fitting = [r for r in range(len(rows)) if used[r] + len(piece) <= size]
        if fitting:
            best = max(fitting, key=lambda r: (used[r], filled[r]))
            rows[best].append(piece)
            filled[best] = step
        else:
            rows.append([piece])
            filled.append(step)
    return sorted([token for piece in sorted(row) for token in piece] for row in rows)


def best_fit_crop(lengths: Sequence[int], size: int, *, drop_tail: bool) -> list[Row]:
    left = [document for document in document_tokens(lengths) if document]
    rows: list[Row] = []
    while left:
        row: Row = []
        while left and len(row) < size:
            fitting = [document for document in left if len(row) + len(document) <= size]
            # max() and min() take the first of equals.
            chosen = max(fitting, key=len) if fitting else min(left, key=len)
            left.remove(chosen)
            row += chosen[: size - len(row)]
        rows.append(row)
    return sorted(row for row in rows if len(row) == size or not drop_tail)


def segments(row: Row) -> list[int]:
    """Number the runs of one document from 1."""
    numbers: list[int] = []
    for i, (document, place) in enumerate(row):
        starts = i == 0 or row[i - 1] != (document, place - 1)
        numbers.append((numbers[-1] if numbers else 0) + starts)
    return numbers


def positions(row: Row, *, continue_documents: bool) -> list[int]:
    if continue_documents:
        return [place for _, place in row]
    numbers = segments(row)
    return [i - numbers.index(number) for i, number in enumerate(numbers)]


def hf_labels(row: Row, ids: Sequence[int], ignore: int) -> list[int]:
    numbers = segments(row)
    return [
        ids[i] if i > 0 and numbers[i - 1] == numbers[i] else ignore for i in range(len(numbers))
    ]


def shifted_labels(row: Row, ids: Sequence[int], ignore: int) -> list[int]:
    numbers = [*segments(row), 0]
    return [ids[i + 1] if numbers[i + 1] == numbers[i] else ignore for i in range(len(row))]
