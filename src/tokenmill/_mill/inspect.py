"""`inspect`: a row, a document or a line of an input, found in a finished output and decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError, SourceNotFound, UnknownId
from tokenmill._mill.output.document_table import DocumentTable
from tokenmill._mill.output.manifest import Manifest
from tokenmill._mill.output.quarantine import quarantined
from tokenmill._mill.output.stored import RowReader, stored_shards
from tokenmill._mill.output.tables import shown_path
from tokenmill._mill.output.tokenizer_of import tokenizer_of
from tokenmill._mill.output.work import DOCUMENTS
from tokenmill._mill.views import DocumentView, PieceView, RowView, SourceView, Spot
from tokenmill._pack import labels, position_ids

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._pack.rows import Rows
    from tokenmill._tokenizer import Tokenizer

_NAMED = 8  # inputs that a message lists


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

    Without any of them, show the first row. `split` chooses the split whose rows are counted. Give
    `tokenizer` if it is no longer at its old path.
    """
    if sum(choice is not None for choice in (row, document, source)) > 1:
        raise OptionError("expected one of row, document and source", where="inspect")
    manifest = Manifest.load(output)
    finder = RowFinder(manifest, tokenizer_of(manifest, tokenizer))
    if document is not None:
        return finder.document(document)
    if source is not None:
        return finder.source(source)
    return finder.row(row or 0, split)


class RowFinder:
    """Finds rows and documents in one output."""

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
            f"{chosen or 'the output'} has {first:,} rows, counted from 0, got {row}", where="row"
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
        """Return a document, put together from the rows that hold it."""
        if not 0 <= number < len(self._table):
            raise OptionError(
                f"there are {len(self._table):,} documents, counted from 0, got {number}",
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
        """Yield the shard, its first row in the split, the row and the spot of each piece."""
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
        """Return the documents and quarantined records of a line of an input."""
        name, _, line = source.rpartition(":")
        if not name or not line.isascii() or not line.isdigit():
            raise OptionError(f"expected a file and a line such as data.jsonl:991, got {source!r}")
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
        """Return the path of an input, given its path or the end of it."""
        paths = list(dict.fromkeys(_inputs(self._manifest.data["plan"])))
        if name in paths:
            return name
        found = [path for path in paths if path.endswith("/" + name)]
        if len(found) == 1:
            return found[0]
        shown = ", ".join((found or paths)[:_NAMED])
        if found:
            raise OptionError(f"{len(found)} inputs have this name: {shown}", where=name)
        raise SourceNotFound("no input has this name", source=name, hint=f"the inputs are {shown}")

    def _text(self, ids: NDArray[Any]) -> str:
        """Decode ids; incomplete characters and unknown ids are escaped."""
        try:
            return self._tokenizer.decode_bytes(ids).decode("utf-8", "backslashreplace")
        except UnknownId:
            if len(ids) == 1:
                return f"<unknown id {ids[0]}>"
            return "".join(self._text(ids[i : i + 1]) for i in range(len(ids)))


def _inputs(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of all inputs as the tables show them, those of rewritten outputs too."""
    yield from (shown_path(entry["path"]) for entry in plan["inputs"])
    for origin in plan.get("from", ()):
        yield from _inputs(origin["plan"])


def _format(shard: StoredShard) -> str:
    return "bin" if "bin" in shard.formats else next(iter(shard.formats))
