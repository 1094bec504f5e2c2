"""Small finished outputs: documents whose ids encode their place, packed and written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from tokenmill import Packer
from tokenmill._pack.rows import Pieces, Rows, ShardShape
from tokenmill._write import FORMATS, index_name, write_index

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._pack.packer import Strategy


def make_output(
    folder: Path,
    lengths: list[int],
    context_length: int | None = 8,
    *,
    strategy: Strategy = "concat",
    dtype: str = "uint16",
    padded: bool = False,
    rows_per_shard: int = 20,
    first_id: int = 1,
    repeat_after: int = 1 << 32,
    form: str = "bin",
) -> list[list[int]]:
    """Write an output; ids count up from `first_id` through all documents. Return its rows.

    Ids restart at `repeat_after`.
    """
    packed = Packer(strategy, context_length).pack(lengths)
    firsts = first_id + np.cumsum([0, *lengths])
    folder.mkdir(exist_ok=True)
    shards, rows = [], []
    for number, begin in enumerate(range(0, packed.rows, rows_per_shard)):
        pieces = some_rows(packed, begin, min(begin + rows_per_shard, packed.rows))
        ids = (ids_of(pieces, firsts) % repeat_after).astype(dtype)
        shape = ShardShape(pieces.row_lengths, dtype, context_length, 0, padded)
        writer = FORMATS[form].open_shard(folder / form, number, shape)
        writer.write(Rows(ids, pieces))
        (file, *_) = writer.commit()
        write_index(folder / "index" / index_name(number), pieces)
        place = {"split": "train", "format": form, "number": number}
        shards.append({**place, "index": f"index/{index_name(number)}", "rows": pieces.rows,
                       "tokens": writer.facts.ids, "path": f"{form}/{file.path}"})  # fmt: skip
        rows += [row.tolist() for row in np.split(ids, np.cumsum(pieces.row_lengths)[:-1])]
    facts = {"context_length": context_length, "dtype": dtype, "pad_id": 0, "shards": shards,
             "options": {"validation": 0}}  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(facts))
    return rows


def some_rows(pieces: Pieces, begin: int, end: int) -> Pieces:
    first, last = pieces.row_pieces[[begin, end]]
    return Pieces(
        pieces.documents[first:last],
        pieces.begins[first:last],
        pieces.lengths[first:last],
        pieces.row_pieces[begin : end + 1] - first,
    )


def ids_of(pieces: Pieces, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = firsts[pieces.documents] + pieces.begins
    runs = [np.arange(s, s + n) for s, n in zip(starts, pieces.lengths, strict=True)]
    return np.concatenate([np.empty(0, np.int64), *runs])
