"""What `inspect` returns: rows, documents and lines of inputs, decoded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenmill._mill.output.document_table import DocumentPlace


@dataclass(frozen=True)
class _View:
    """Something that `inspect` returns."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": type(self).__name__.removesuffix("View").lower(), **asdict(self)}


@dataclass(frozen=True)
class PieceView(_View):
    """A run of tokens of one document in a row, starting at token `begin` of the document."""

    place: DocumentPlace
    begin: int
    begins_document: bool
    ends_document: bool
    ids: list[int]
    tokens: list[str]  # the text of each id
    text: str
    position_ids: list[int]
    labels: list[int]

    @property
    def end(self) -> int:
        """The token of the document after the last one here."""
        return self.begin + len(self.ids)


@dataclass(frozen=True)
class RowView(_View):
    """A row, and the pieces of documents in it; `row` counts over all shards of the split."""

    split: str
    row: int
    shard: str
    row_of_shard: int
    tokens: int
    padding: int  # up to the context length
    pieces: tuple[PieceView, ...]


@dataclass(frozen=True)
class Spot:
    """Where tokens of a document are: in a row, starting at `column`."""

    split: str
    row: int
    column: int
    begin: int
    length: int


@dataclass(frozen=True)
class DocumentView(_View):
    """A document as it is in the rows; `missing` counts the tokens that are in no row."""

    place: DocumentPlace
    spots: tuple[Spot, ...]
    missing: int
    ids: list[int]
    tokens: list[str]
    text: str


@dataclass(frozen=True)
class SourceView(_View):
    """A line of an input: its documents, and its records in the quarantine."""

    file: str
    line: int
    documents: tuple[DocumentView, ...]
    quarantine: tuple[dict[str, Any], ...]
