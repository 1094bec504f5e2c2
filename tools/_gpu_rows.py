"""Compares the rows that a device packs with the CPU packer's, element by element, and times them.

The documents come in three batches. There is one report per packing strategy and number type.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill import Packer
from tokenmill._core import TextBuffer
from tokenmill._dataset.columns import Columns
from tokenmill._pack import COLUMNS, RowLooks, frame, gather
from tokenmill._pack.rows import Rows
from tokenmill.cuda import DeviceRowPacker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill.cuda import DeviceRows, GpuTokenizer

    Flat = tuple[NDArray[np.uint8], NDArray[np.int64]]

WAYS = ("concat", "bestfit")
DTYPES = ("int64", "int32")
BATCHES = 3
ROUNDS = 5


@dataclass(frozen=True)
class Report:
    """The result of one packing strategy; `wrong` names the columns that differ."""

    way: str
    dtype: str
    rows: int
    tokens: int
    wrong: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        verdict = f"DIFFERENT: {', '.join(self.wrong)}" if self.wrong else "equal"
        rate = self.tokens / self.seconds / 1e9
        what = f"{self.rows:,} rows, {self.tokens:,} tokens, {rate:.2f} G tokens/s"
        return f"{self.way:<8} {self.dtype:<6} {what}, {verdict}"


def batches(flat: Flat, count: int = BATCHES) -> Iterator[Flat]:
    """Yield the documents in batches of about equal size."""
    text, offsets = flat
    for part in np.array_split(np.arange(len(offsets) - 1), count):
        if len(part):
            bounds = offsets[part[0] : part[-1] + 2]
            yield text[bounds[0] : bounds[-1]], bounds - bounds[0]


def expected(tokenizer: Tokenizer, flat: Flat, packer: Packer, eos: int) -> list[dict[str, Any]]:
    """Return the CPU's rows: of all documents for concat, else of each batch."""
    given = [flat] if packer.strategy == "concat" else list(batches(flat))
    columns = Columns(RowLooks(COLUMNS, shifted_labels=True), packer.context_length, 0)
    tables = []
    for text, offsets in given:
        batch = tokenizer.encode_batch(TextBuffer(text, offsets), special_in_text="text")
        ids, lengths = frame(batch.ids, batch.offsets, suffix=[eos])
        pieces = packer.pack(lengths)
        begins = (np.cumsum(lengths) - lengths)[pieces.documents] + pieces.begins
        out = np.empty(int(pieces.lengths.sum()), ids.dtype)
        gather([ids], np.zeros(len(begins), np.int32), begins, pieces.lengths, out)
        tables.append(columns.of(Rows(out, pieces)))
    return tables


def pack_there(gpu: GpuTokenizer, given: list[Any], packer: DeviceRowPacker) -> list[DeviceRows]:
    """Pack encoded batches, and wait until that is done."""
    made = [packer.add(ids, offsets) for ids, offsets in given]
    made.append(packer.finish())
    gpu.backend.mark().synchronize()
    return [rows for rows in made if rows is not None]


def check(gpu: GpuTokenizer, tokenizer: Tokenizer, flat: Flat, width: int) -> Iterator[Report]:
    """Compare every packing strategy; the EOS is the first id, since any id works."""
    given = [gpu.encode_flat(*batch, special_in_text="text") for batch in batches(flat)]
    for way in WAYS:
        packer = Packer(way, width)  # type: ignore[arg-type]
        wanted = expected(tokenizer, flat, packer, 0)
        for dtype in DTYPES:
            options: Any = {"eos_id": 0, "columns": COLUMNS, "dtype": dtype, "shifted_labels": True}
            seconds = []
            for _ in range(ROUNDS):
                there = DeviceRowPacker(gpu.backend, packer, **options)
                began = time.perf_counter()
                made = pack_there(gpu, given, there)
                seconds.append(time.perf_counter() - began)
            wrong = tuple(name for name in COLUMNS if not _equal(gpu, name, made, wanted))
            wrong += tuple(f"{name} for torch" for name in _copied(gpu, made[0]))
            yield Report(way, dtype, there.rows, there.tokens, wrong, sorted(seconds)[ROUNDS // 2])


def _equal(gpu: GpuTokenizer, name: str, made: list[DeviceRows], wanted: list[Any]) -> bool:
    found = [gpu.backend.to_host(rows[name]) for rows in made]
    tables = [table[name] for table in wanted]
    if name == "cu_seqlens":  # each list starts with 0
        found, tables = [np.diff(f) for f in found], [np.diff(t) for t in tables]
    return bool(np.array_equal(np.concatenate(found), np.concatenate(tables)))


def _copied(gpu: GpuTokenizer, rows: DeviceRows) -> list[str]:
    """Return the columns that torch cannot take without a copy."""
    if find_spec("torch") is None or isinstance(rows["input_ids"], np.ndarray):
        return []
    import torch

    address = gpu.backend.address
    return [n for n in COLUMNS if torch.from_dlpack(rows[n]).data_ptr() != address(rows[n])]
