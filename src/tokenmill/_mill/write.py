"""`write_shards`: ids in memory -> shards of any format, without inputs or a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import DtypeError
from tokenmill._mill.output.open_work import folder_of
from tokenmill._mill.output.work import INDEX
from tokenmill._pack import Packer, gather
from tokenmill._pack.rows import Rows, ShardShape
from tokenmill._write import find_format, index_name, write_index

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._pack.rows import Pieces
    from tokenmill._write import ShardFacts, ShardWriter


def write_shards(
    folder: str | os.PathLike[str],
    batches: Iterable[TokenBatch],
    *,
    format: str = "bin",  # noqa: A002 -- the word for it, here and on the command line
    packer: Packer | None = None,
    pad_id: int | None = None,
) -> list[Path]:
    """Write each batch of documents as one shard, and return the files, indexes included.

    `packer` turns documents into rows; without one, every document is a row of its own length.
    `pad_id` fills short rows in formats whose rows have one length. Every file is written under
    another name, synced and renamed. A shard that the format cannot hold is refused.

        write_shards("out", [tokenizer.encode_batch(texts)], format="megatron")
        -> [out/shard-00000.bin, out/shard-00000.idx, out/index/shard-00000.rows]
    """
    form, home = find_format(format), folder_of(folder)
    chosen = packer or Packer("none")
    facts: list[ShardFacts] = []
    paths: list[Path] = []
    for number, batch in enumerate(batches):
        pieces = chosen.pack(np.diff(batch.offsets))
        shape = _shape(chosen, batch, pieces, pad_id)
        form.check(shape, int(batch.ids.max(initial=0)))
        done = _write_shard(form.open_shard(home, number, shape), batch, pieces)
        facts.append(done)
        paths += [home / file.path for file in done.files]
        paths.append(home / INDEX / index_name(number))
        write_index(paths[-1], pieces)
    return paths + [home / file.path for file in form.finish(home, facts)]


def _shape(packer: Packer, batch: TokenBatch, pieces: Pieces, pad_id: int | None) -> ShardShape:
    if batch.ids.dtype not in (np.dtype(np.uint16), np.dtype(np.uint32)):
        raise DtypeError(
            f"expected ids as uint16 or uint32, got {batch.ids.dtype}", where="batches"
        )
    return ShardShape(
        pieces.row_lengths, str(batch.ids.dtype), packer.context_length, pad_id, packer.fills_rows
    )


def _write_shard(writer: ShardWriter, batch: TokenBatch, pieces: Pieces) -> ShardFacts:
    try:
        writer.write(Rows(_ids_of(batch, pieces), pieces))
        writer.commit()
    except BaseException:
        writer.discard()
        raise
    return writer.facts


def _ids_of(batch: TokenBatch, pieces: Pieces) -> Any:  # an array of its ids' type
    out = np.empty(int(pieces.lengths.sum()), batch.ids.dtype)
    source = np.zeros(len(pieces.lengths), np.int32)
    begins = batch.offsets[pieces.documents] + pieces.begins
    gather([batch.ids], source, begins, pieces.lengths, out)
    return out
