"""One shard against the manifest: its index, and the ids of every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from tokenmill._errors import TokenmillError
from tokenmill._mill.output.stored import IdReader, stored_offsets, token_mask
from tokenmill._mirror import is_here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._write import ShardIndex

    Found = tuple[str, str]  # where, what

_BATCH_IDS = 1 << 22


def check_shard(shard: StoredShard, data: dict[str, Any], damaged: set[str]) -> list[Found]:
    """Return everything that is wrong with a shard; `damaged` files have a wrong checksum.

    Ids are read nevertheless: what is wrong with them may explain more than a checksum.
    """
    problems = list(_entries_differ(shard))
    if shard.index_path in damaged:
        return problems
    try:
        index = shard.index(check=True)
    except TokenmillError as error:
        return [*problems, (shard.index_path, str(error))]
    wrong = [(shard.index_path, what) for what in _index_problems(index, shard)]
    if wrong:  # the ids cannot be checked against it
        return problems + wrong
    tokens: dict[str, str] = {}
    for form, entry in shard.formats.items():
        if all(is_here(shard.folder / file["path"]) for file in entry["files"]):
            problems += _Ids(shard, form, data).check(index, tokens)
    if len(set(tokens.values())) > 1:
        problems.append((shard.name, f"formats hold different tokens: {', '.join(tokens)}"))
    return problems


def _entries_differ(shard: StoredShard) -> Iterator[Found]:
    first = next(iter(shard.formats.values()))
    for entry in shard.formats.values():
        for key in ("rows", "documents", "index"):
            if entry[key] != first[key]:
                yield entry["path"], f"{key}: {entry[key]}, but {first[key]} in {first['path']}"


def _index_problems(index: ShardIndex, shard: StoredShard) -> Iterator[str]:
    if index.rows != shard.rows:
        yield f"{index.rows} rows, but the manifest has {shard.rows}"
    bounds, ends = index.row_pieces, np.cumsum(index.lengths)
    if int(bounds[0]) != 0 or int(bounds[-1]) != len(index.lengths) or (np.diff(bounds) < 0).any():
        yield "its rows are not ranges of pieces"
        return
    if not np.array_equal(index.row_offsets, np.concatenate(([0], ends))[bounds]):
        yield "its rows do not start where their pieces do"
    if (index.lengths < 0).any() or (index.begins < 0).any() or (index.documents < 0).any():
        yield "has a length, a start or a document number below 0"
    longest = int(index.row_lengths.max(initial=0))
    if shard.context_length is not None and longest > shard.context_length:
        yield f"has a row of {longest} tokens, longer than the context of {shard.context_length}"


class _Ids:
    """The ids of a shard in one format."""

    def __init__(self, shard: StoredShard, form: str, data: dict[str, Any]) -> None:
        self._shard = shard
        self._form = form
        self._entry = shard.formats[form]
        self._pad_id = data["pad_id"]
        self._max_id = data["options"]["max_id"]
        self._width = shard.width(form)

    def check(self, index: ShardIndex, tokens: dict[str, str]) -> list[Found]:
        """Return what is wrong; put the hash of the tokens, without padding, into `tokens`."""
        path, count = self._entry["path"], self._entry["tokens"]
        stored = stored_offsets(index, self._width)
        if int(stored[-1]) != count or count - index.tokens != self._entry["padding"]:
            return [
                (
                    path,
                    f"{count} ids, {self._entry['padding']} of them padding, but the index has "
                    f"{index.tokens} tokens in {index.rows} rows",
                )
            ]
        digest = xxhash.xxh3_64()
        found: list[str] = []
        try:
            reader = IdReader(self._shard, self._form)
            for begin, end in _spans(stored):
                ids = reader.read(int(stored[begin]), int(stored[end]))
                lengths = np.diff(index.row_offsets[begin : end + 1])
                found += self._judge(ids, lengths, int(stored[begin]))
                digest.update(self._real(ids, lengths).data)
            self._refuse_more(reader, count)
        except TokenmillError as error:
            return [*((path, what) for what in found), (path, str(error))]
        tokens[self._form] = digest.hexdigest()
        return [(path, what) for what in found]

    def _judge(self, ids: NDArray[Any], lengths: NDArray[np.int64], base: int) -> Iterator[str]:
        high = np.flatnonzero(ids > self._max_id)
        if len(high):
            at = int(high[0])
            yield (
                f"{len(high)} ids above {self._max_id}, the largest that can occur, "
                f"the first at {base + at}: {ids[at]}"
            )
        if self._width is None:
            return
        wrong = np.flatnonzero(~token_mask(lengths, self._width) & (ids != self._pad_id))
        if len(wrong):
            at = int(wrong[0])
            yield (
                f"{len(wrong)} ids of padding are not {self._pad_id}, the first at {base + at} "
                f"(row {(base + at) // self._width}): {ids[at]}"
            )

    def _real(self, ids: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
        return ids if self._width is None else ids[token_mask(lengths, self._width)]

    def _refuse_more(self, reader: IdReader, count: int) -> None:
        more = reader.beyond(count)
        if more:
            raise TokenmillError(f"expected {count} ids, and there are more", where=self._form)


def _spans(stored: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Split rows into runs of a few million stored ids, at least one row each."""
    begin, rows = 0, len(stored) - 1
    while begin < rows:
        end = int(np.searchsorted(stored, stored[begin] + _BATCH_IDS, side="right")) - 1
        end = min(max(end, begin + 1), rows)
        yield begin, end
        begin = end
