"""`olmo`: raw ids named `.npy` and a table of documents, for OLMo-core."""

from __future__ import annotations

import csv
import io
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._write.body import BodyFormat, BodyWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tokenmill._pack.rows import Rows, ShardShape
    from tokenmill._write.format import Extras
    from tokenmill._write.writer import ShardWriter

BLOCK = 1 << 20  # bytes compressed at once, for any batches of rows


class Olmo(BodyFormat):
    """`shard-00000.npy`: ids only; `shard-00000.csv.gz`: start,end,id,src,loc of each piece."""

    name = "olmo"
    default_pack = "none"
    stores_places = True
    suffixes = (".npy", ".csv.gz")

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        del shape
        return _OlmoWriter


class _OlmoWriter(BodyWriter):
    """Writes the table along with the rows."""

    def __init__(self, *args: Any, extras: Extras) -> None:  # of BodyWriter
        super().__init__(*args, extras=extras)
        self._lines = bytearray()
        self._ids = 0  # stored so far
        # A gzip header without name and time, so that the same rows give the same bytes.
        self._gzip = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        self._table = self._add_file()

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        super()._append(rows, lengths)
        begins = self._begins(rows, lengths)
        documents = rows.pieces.documents
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        ends = begins + rows.pieces.lengths
        for begin, end, place in zip(
            begins.tolist(), ends.tolist(), self._places(documents), strict=True
        ):
            writer.writerow((begin, end, *place))
        self._lines += text.getvalue().encode()
        whole = len(self._lines) // BLOCK * BLOCK
        for begin in range(0, whole, BLOCK):
            self._table.write(self._gzip.compress(self._lines[begin : begin + BLOCK]))
        del self._lines[:whole]

    def _begins(self, rows: Rows, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each piece starts in the file, counting padding before it."""
        pieces = rows.pieces
        stored = self._format.stored_length(self._shape)
        sizes = lengths if stored is None else np.full(len(lengths), stored, np.int64)
        before = self._ids + np.cumsum(sizes) - sizes
        self._ids += int(sizes.sum())
        in_all = np.cumsum(pieces.lengths) - pieces.lengths
        row_begins = np.cumsum(lengths) - lengths
        shift = np.repeat(before - row_begins, np.diff(pieces.row_pieces))
        return np.asarray(in_all + shift, np.int64)

    def _places(self, documents: NDArray[np.int64]) -> Iterable[tuple[str, str, int]]:
        if self._extras.places is not None:
            return self._extras.places(documents)
        return ((str(document), "", 0) for document in documents.tolist())

    def _close(self) -> None:
        super()._close()
        self._table.write(self._gzip.compress(self._lines) + self._gzip.flush())
