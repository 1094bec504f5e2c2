"""Rows, masks and labels the slow way: one token at a time, as one would explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Row(NamedTuple):
    ids: list[int]
    mask: list[int]
    labels: list[int]
    document: int | None


class Cut(NamedTuple):
    """How rows are cut, and what becomes of short ones."""

    context_length: int
    overlap: int
    tail: Literal["pad", "carry", "drop"]
    pad_id: int
    mask_overlap: bool
    ignore_index: int = -100


def windows(tokens: Sequence[int], cut: Cut) -> list[list[int]]:
    """Begin a window every stride tokens, until one reaches the end."""
    found: list[list[int]] = []
    begin = 0
    while begin < len(tokens):
        found.append(list(tokens[begin : begin + cut.context_length]))
        if begin + cut.context_length >= len(tokens):
            break
        begin += cut.context_length - cut.overlap
    return found


def rows_of(tokens: Sequence[int], cut: Cut, document: int | None = None) -> list[Row]:
    rows = []
    for number, window in enumerate(windows(tokens, cut)):
        if len(window) < cut.context_length and cut.tail == "drop":
            continue
        labels = []
        for place, token in enumerate(window):
            repeated = number > 0 and place < cut.overlap
            labels.append(cut.ignore_index if repeated and cut.mask_overlap else token)
        missing = cut.context_length - len(window) if cut.tail == "pad" else 0
        rows.append(
            Row(
                window + [cut.pad_id] * missing,
                [1] * len(window) + [0] * missing,
                labels + [cut.ignore_index] * missing,
                document,
            )
        )
    return rows


def packed_rows(documents: Sequence[Sequence[int]], cut: Cut) -> list[Row]:
    """One stream of all documents."""
    return rows_of([token for document in documents for token in document], cut)


def document_rows(documents: Sequence[Sequence[int]], cut: Cut) -> list[Row]:
    """Each document by itself."""
    return [row for n, document in enumerate(documents) for row in rows_of(document, cut, n)]


def framed(
    texts: Sequence[str], encode: Callable[[str], Sequence[int]], bos: int | None, eos: int | None
) -> list[list[int]]:
    """Tokens of each text that is not empty, with BOS before and EOS after."""
    before = [] if bos is None else [bos]
    after = [] if eos is None else [eos]
    return [[*before, *encode(text), *after] for text in texts if text]


def group_texts(
    examples: dict[str, list[list[int]]], block_size: int
) -> dict[str, list[list[int]]]:
    """What language-modelling scripts map over a tokenized dataset, batch by batch."""
    joined = {name: [i for row in rows for i in row] for name, rows in examples.items()}
    total = len(joined["input_ids"]) // block_size * block_size
    result = {
        name: [values[i : i + block_size] for i in range(0, total, block_size)]
        for name, values in joined.items()
    }
    result["labels"] = [list(row) for row in result["input_ids"]]
    return result


def nested_loop_labels(
    rows: Sequence[Sequence[int]],
    lengths: Sequence[int],
    repeats: Sequence[int],
    ignore_index: int = -100,
) -> list[list[int]]:
    """Labels of a table of rows, one token after the other."""
    result = []
    for row, length, repeated in zip(rows, lengths, repeats, strict=True):
        labels = []
        for place, token in enumerate(row):
            labels.append(token if repeated <= place < length else ignore_index)
        result.append(labels)
    return result
