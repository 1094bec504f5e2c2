"""PackedDataset: the rows of finished outputs by number."""

from __future__ import annotations

import operator
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._dataset.columns import Columns
from tokenmill._dataset.iterable import PackedIterable
from tokenmill._dataset.shards import Shards, read_output
from tokenmill._errors import MissingDependency, OptionError
from tokenmill._pack import RowLooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from tokenmill._dataset.order import Remainder


class PackedDataset:
    """The rows of one or several finished outputs of `tokenmill pack`, in any of its formats.

    `dataset[i]` is row `i` as a dict of tensors (arrays if PyTorch is not installed, or with
    `torch=False`), `dataset.batch([i, j])` returns several as tables, and `dataset.iterate()` an
    iterable that shuffles, divides rows among ranks and workers, mixes outputs by weight and
    resumes. A `torch.utils.data.DataLoader` takes both. You may use it after a fork and send it to
    other processes, which open the files again.

    An output is a folder, or an address such as "s3://bucket/packed", whose files are fetched when
    they are needed and kept in the cache. Files are mapped into memory, apart from Parquet, which
    is compressed: there, reading a row decodes the row group that holds it (about a million
    tokens), and each process keeps up to 256 MiB of the groups it used last. If you shuffle a
    larger dataset, `tokenmill convert` it to "bin" or "arrow" first. An output with several formats
    is read in one that can be mapped.

    `split` chooses the shards of an output that has several splits. `columns` are of `COLUMNS`:
    "input_ids" and "labels" by default, "position_ids", "segment_ids" (from 1), "attention_mask"
    and "cu_seqlens". Rows are padded to the context length with `pad_id`, by default that of the
    manifest, else 0; padding has the label `ignore_index`, the segment 0 and the mask 0. No label
    crosses from one document into the next: `labels` are those that `transformers` shifts itself,
    or with `shifted_labels` the next tokens. Positions restart with every piece, or continue with
    `continue_positions` where a row continues a document. Rows of an output that was not packed
    are as long as their documents.
    """

    def __init__(
        self,
        outputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        split: str | None = None,
        columns: Sequence[str] = ("input_ids", "labels"),
        pad_id: int | None = None,
        shifted_labels: bool = False,
        ignore_index: int = -100,
        continue_positions: bool = False,
        torch: bool | None = None,
    ) -> None:
        folders = [outputs] if isinstance(outputs, (str, os.PathLike)) else list(outputs)
        if not folders:
            raise OptionError("expected at least one output, got none", where="outputs")
        found = [read_output(folder, split) for folder in folders]
        lengths = {output.context_length for output in found}
        if len(lengths) != 1:
            problem = f"expected outputs of one context length, got {sorted(map(str, lengths))}"
            raise OptionError(problem, where="outputs")
        self.context_length = lengths.pop()
        self.output_rows = tuple(output.rows for output in found)
        looks = RowLooks(
            columns,
            shifted_labels=shifted_labels,
            ignore_index=ignore_index,
            continue_positions=continue_positions,
        )
        known_pad = next((o.pad_id for o in found if o.pad_id is not None), 0)
        self._columns = Columns(looks, self.context_length, known_pad if pad_id is None else pad_id)
        self._shards = Shards([shard for output in found for shard in output.shards])
        self._torch = _wants_torch(torch)

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, index: int) -> dict[str, Any]:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"row {number} of a dataset of {len(self)}")
        tables = self._tables(np.array([number % len(self)]))
        return {name: t if name == "cu_seqlens" else t[0] for name, t in tables.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def batch(self, rows: ArrayLike) -> dict[str, Any]:
        """Return several rows as tables with one line per row.

        "cu_seqlens" covers all rows, back to back; the padding of a row is a piece of its own.
        """
        numbers = np.asarray(rows, np.int64)
        wrong = numbers[(numbers < 0) | (numbers >= len(self))]
        if len(wrong):
            raise IndexError(f"row {wrong[0]} of a dataset of {len(self)}")
        return self._tables(numbers)

    def iterate(
        self,
        *,
        batch_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        rank: int | None = None,
        ranks: int | None = None,
        remainder: Remainder = "uneven",
        weights: Sequence[float] | None = None,
        epoch_rows: int | None = None,
    ) -> PackedIterable:
        """Return an iterable over the rows, or over batches of them; see PackedIterable."""
        kind = PackedIterable
        if self._torch:
            from tokenmill._dataset.torch_iterable import TorchPackedIterable

            kind = TorchPackedIterable
        return kind(
            self,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            rank=rank,
            ranks=ranks,
            remainder=remainder,
            weights=weights,
            epoch_rows=epoch_rows,
        )

    def _tables(self, numbers: Any) -> dict[str, Any]:  # an array
        tables = self._columns.of(self._shards.read(numbers))
        if not self._torch:
            return tables
        from torch import from_numpy

        return {name: from_numpy(table) for name, table in tables.items()}


def _wants_torch(torch: bool | None) -> bool:
    is_there = find_spec("torch") is not None
    if torch and not is_there:
        raise MissingDependency("not installed", name="torch", hint="pip install torch")
    return is_there if torch is None else torch
