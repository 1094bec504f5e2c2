"""Texts and ids as files, by which a process is given its work and gives its answer.

Plain bytes and no numpy: a process that measures another library holds nothing of ours.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_LENGTHS = "q"
_IDS = "I"


@dataclass(frozen=True)
class Answer:
    """The ids of all documents, one after the other, and how many each has."""

    ids: bytes
    lengths: bytes

    @property
    def tokens(self) -> int:
        """How many ids there are."""
        return len(self.ids) // array(_IDS).itemsize

    def hash(self) -> str:
        """Return a short hash of ids and lengths."""
        digest = hashlib.sha256(self.ids)
        digest.update(self.lengths)
        return digest.hexdigest()[:16]

    def write(self, path: Path) -> None:
        """Write two files."""
        path.with_suffix(".ids").write_bytes(self.ids)
        path.with_suffix(".lengths").write_bytes(self.lengths)

    @classmethod
    def read(cls, path: Path) -> Answer:
        """Read what `write` wrote."""
        return cls(path.with_suffix(".ids").read_bytes(), path.with_suffix(".lengths").read_bytes())


def answer_of(rows: Iterable[Sequence[int]]) -> Answer:
    """Return the answer in rows of ids."""
    ids, lengths = array(_IDS), array(_LENGTHS)
    for row in rows:
        ids.extend(row)
        lengths.append(len(row))
    return Answer(ids.tobytes(), lengths.tobytes())


_HINT = "nothing is timed that is not equal; --only names the tokenizers to measure"


def check_same(
    answer: Answer, name: str, right: Answer, right_name: str, *, hint: str = _HINT
) -> None:
    """Raise an error that names the first document, and the first of its ids, that differ."""
    if answer == right:
        return
    rows, right_rows = _rows(answer), _rows(right)
    if len(rows) != len(right_rows):
        raise TokenmillError(
            f"{name} gave ids of {len(rows)} documents, {right_name} of {len(right_rows)}"
        )
    number = next(n for n, (a, b) in enumerate(zip(rows, right_rows, strict=True)) if a != b)
    at, found, wanted = _first_difference(rows[number], right_rows[number])
    raise TokenmillError(
        f"{right_name} and {name} give different ids: at token {at} expected {wanted}, got {found}",
        where=f"document {number}",
        hint=hint,
    )


def _first_difference(row: array[int], right: array[int]) -> tuple[int, str, str]:
    at = next(
        (n for n, (a, b) in enumerate(zip(row, right, strict=False)) if a != b),
        min(len(row), len(right)),
    )
    return at, _id_at(row, at), _id_at(right, at)


def _id_at(row: array[int], at: int) -> str:
    return f"id {row[at]}" if at < len(row) else "no more ids"


def _rows(answer: Answer) -> list[array[int]]:
    ids, lengths = array(_IDS, answer.ids), array(_LENGTHS, answer.lengths)
    flat = iter(ids)
    return [array(_IDS, islice(flat, length)) for length in lengths]


def write_texts(path: Path, texts: Sequence[str]) -> None:
    """Write the documents for the processes."""
    raw = [text.encode() for text in texts]
    path.with_suffix(".text").write_bytes(b"".join(raw))
    path.with_suffix(".lengths").write_bytes(array(_LENGTHS, map(len, raw)).tobytes())


def read_texts(path: Path) -> list[str]:
    """Read what `write_texts` wrote."""
    data = path.with_suffix(".text").read_bytes()
    texts, begin = [], 0
    for length in array(_LENGTHS, path.with_suffix(".lengths").read_bytes()):
        texts.append(data[begin : begin + length].decode())
        begin += length
    return texts
