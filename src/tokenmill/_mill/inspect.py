"""`inspect`: a row, a document or a line of an input, found in a finished output and decoded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError, SourceNotFound, UnknownId
from tokenmill._mill.output.document_table import DocumentPlace, DocumentTable
from tokenmill._mill.output.manifest import Manifest
from tokenmill._mill.output.quarantine import quarantined
from tokenmill._mill.output.stored import RowReader, stored_shards
from tokenmill._mill.output.tables import shown_path
from tokenmill._mill.output.tokenizer_of import tokenizer_of
from tokenmill._mill.output.work import DOCUMENTS
from tokenmill._pack import labels, position_ids

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._pack.rows import Rows
    from tokenmill._tokenizer import Tokenizer

_NAMED = 8  # files that a message names


@dataclass(frozen=True)
class _View:
    """Something to be looked at."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": type(self).__name__.removesuffix("View").lower(), **asdict(self)}


@dataclass(frozen=True)
class PieceView(_View):
    """A run of tokens of one document in a row, from token `begin` of the document on."""

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
        """The token of the document behind the last one here."""
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
    """Where tokens of a document stand: from `column` of a row on."""

    split: str
    row: int
    column: int
    begin: int
    length: int


@dataclass(frozen=True)
class DocumentView(_View):
    """A document as it stands in the rows; `missing` tokens stand in none."""

    place: DocumentPlace
    spots: tuple[Spot, ...]
    missing: int
    ids: list[int]
    tokens: list[str]
    text: str


@dataclass(frozen=True)
class SourceView(_View):
    """A line of an input: its documents, and what was put aside of it."""

    file: str
    line: int
    documents: tuple[DocumentView, ...]
    quarantine: tuple[dict[str, Any], ...]


def inspect(
    output: str | os.PathLike[str],
    *,
    row: int | None = None,
    document: int | None = None,
    source: str | None = None,
    split: str | None = None,
    tokenizer: object = None,
) -> RowView | DocumentView | SourceView:
    """Show a row, a document by its number, or a line of an input ("data.jsonl:991").

    Without any of them, the first row. `split` chooses among the rows of several. `tokenizer` says
    where it is, if that is no longer where it was.
    """
    if sum(choice is not None for choice in (row, document, source)) > 1:
        raise OptionError("expected one of row, document and source", where="inspect")
    manifest = Manifest.load(output)
    finder = _Finder(manifest, tokenizer_of(manifest, tokenizer))
    if document is not None:
        return finder.document(document)
    if source is not None:
        return finder.source(source)
    return finder.row(row or 0, split)


class _Finder:
    """Looks things up in one output."""

    def __init__(self, manifest: Manifest, tokenizer: Tokenizer) -> None:
        self._manifest = manifest
        self._tokenizer = tokenizer
        self._table = DocumentTable(manifest.folder / DOCUMENTS)
        self._shards = stored_shards(manifest)

    def row(self, row: int, split: str | None) -> RowView:
        """Return a row of a split."""
        splits = list(dict.fromkeys(shard.split for shard in self._shards))
        if split is not None and split not in splits:
            raise OptionError(
                f"expected one of {', '.join(splits) or 'no splits'}, got {split!r}", where="split"
            )
        chosen = split or next(iter(splits), "")
        mine = [shard for shard in self._shards if shard.split == chosen]
        first = 0
        for shard in mine:
            if first <= row < first + shard.rows:
                return self._row(shard, row, row - first)
            first += shard.rows
        raise OptionError(
            f"{chosen or 'the output'} has {first:,} rows, from 0 on, got {row}", where="row"
        )

    def _row(self, shard: StoredShard, row: int, inside: int) -> RowView:
        form = _format(shard)
        rows = next(iter(RowReader(shard, form).rows(inside, inside + 1)))
        count = len(rows.ids)
        return RowView(
            split=shard.split,
            row=row,
            shard=shard.formats[form]["path"],
            row_of_shard=inside,
            tokens=count,
            padding=(shard.context_length or count) - count,
            pieces=tuple(self._pieces(rows)),
        )

    def _pieces(self, rows: Rows) -> Iterator[PieceView]:
        pieces, width = rows.pieces, len(rows.ids)
        positions = position_ids(pieces, width)[0]
        targets = labels(rows.ids, pieces, width)[0]
        ends = np.cumsum(pieces.lengths)
        places = self._table.places(np.asarray(pieces.documents))
        for piece, place in enumerate(places):
            some = slice(int(ends[piece] - pieces.lengths[piece]), int(ends[piece]))
            begin, length = int(pieces.begins[piece]), int(pieces.lengths[piece])
            yield PieceView(
                place=place,
                begin=begin,
                begins_document=begin == 0,
                ends_document=begin + length == place.tokens,
                ids=rows.ids[some].tolist(),
                tokens=[self._text(rows.ids[i : i + 1]) for i in range(some.start, some.stop)],
                text=self._text(rows.ids[some]),
                position_ids=positions[some].tolist(),
                labels=targets[some].tolist(),
            )

    def document(self, number: int) -> DocumentView:
        """Return a document, put together from the rows in which it stands."""
        if not 0 <= number < len(self._table):
            raise OptionError(
                f"there are {len(self._table):,} documents, from 0 on, got {number}",
                where="document",
            )
        place = self._table.places(np.array([number]))[0]
        ids = np.zeros(place.tokens, np.int64)
        known = np.zeros(place.tokens, bool)
        spots = []
        for shard, first, inside, spot in self._spots(number):
            rows = next(iter(RowReader(shard, _format(shard)).rows(inside, inside + 1)))
            some = slice(spot.begin, spot.begin + spot.length)
            ids[some] = rows.ids[spot.column : spot.column + spot.length]
            known[some] = True
            spots.append(Spot(spot.split, first + inside, spot.column, spot.begin, spot.length))
        spots.sort(key=lambda spot: (spot.begin, spot.row))
        return DocumentView(
            place=place,
            spots=tuple(spots),
            missing=int((~known).sum()),
            ids=ids[known].tolist(),
            tokens=[self._text(ids[i : i + 1]) for i in np.flatnonzero(known)],
            text=self._text(ids[known]),
        )

    def _spots(self, number: int) -> Iterator[tuple[StoredShard, int, int, Spot]]:
        """Yield shard, its first row in the split, row and spot of each piece of a document."""
        firsts: dict[str, int] = {}
        for shard in self._shards:
            index, first = shard.index(), firsts.get(shard.split, 0)
            firsts[shard.split] = first + shard.rows
            for piece in np.flatnonzero(index.documents == number).tolist():
                row = int(np.searchsorted(index.row_pieces, piece, side="right")) - 1
                before = index.lengths[int(index.row_pieces[row]) : piece].sum()
                begin, length = int(index.begins[piece]), int(index.lengths[piece])
                yield shard, first, row, Spot(shard.split, row, int(before), begin, length)

    def source(self, source: str) -> SourceView:
        """Return what came of a line of an input."""
        name, _, line = source.rpartition(":")
        if not name or not line.isascii() or not line.isdigit():
            raise OptionError(f"expected a file and a line as data.jsonl:991, got {source!r}")
        file, number = self._file(name), int(line)
        return SourceView(
            file=file,
            line=number,
            documents=tuple(self.document(each) for each in self._table.find(file, number)),
            quarantine=tuple(
                record
                for record in quarantined(self._manifest)
                if record["file"] == file and record["line"] == number
            ),
        )

    def _file(self, name: str) -> str:
        """Return the input of a name: its whole path, or the end of it."""
        paths = list(dict.fromkeys(_inputs(self._manifest.data["plan"])))
        if name in paths:
            return name
        found = [path for path in paths if path.endswith("/" + name)]
        if len(found) == 1:
            return found[0]
        shown = ", ".join((found or paths)[:_NAMED])
        if found:
            raise OptionError(f"{len(found)} inputs end so: {shown}", where=name)
        raise SourceNotFound("no input of that name", source=name, hint=f"there are {shown}")

    def _text(self, ids: NDArray[Any]) -> str:
        """Decode ids; bytes of half a character, and ids that are none, are written as such."""
        try:
            return self._tokenizer.decode_bytes(ids).decode("utf-8", "backslashreplace")
        except UnknownId:
            if len(ids) == 1:
                return f"<unknown id {ids[0]}>"
            return "".join(self._text(ids[i : i + 1]) for i in range(len(ids)))


def _inputs(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of all inputs, as tables have them, through outputs made of others."""
    yield from (shown_path(entry["path"]) for entry in plan["inputs"])
    for origin in plan.get("from", ()):
        yield from _inputs(origin["plan"])


def _format(shard: StoredShard) -> str:
    return "bin" if "bin" in shard.formats else next(iter(shard.formats))
