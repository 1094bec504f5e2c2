"""Rows packed on a device against those of the CPU's packer, as torch sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from _gpu_texts import cut

from tokenmill import Packer
from tokenmill._core import FlatTexts as CpuTexts
from tokenmill._cuda.rows import COLUMNS
from tokenmill._dataset.columns import Columns
from tokenmill._pack import frame, gather
from tokenmill._rows import Rows
from tokenmill.cuda import DeviceRowPacker, FlatTexts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill.cuda import GpuTokenizer

CONTEXT = 1024
EOS = 3
WAYS = (Packer("concat", CONTEXT, tail="pad"), Packer("bestfit", CONTEXT))


def check_rows(
    tokenizer: Tokenizer, gpu: GpuTokenizer, corpora: dict[str, NDArray[np.uint8]]
) -> dict[str, Any]:
    """Pack every corpus both ways in both places and compare every column of every row."""
    rows = tokens = differences = 0
    for name, data in corpora.items():
        text = cut(name, data, 3000)
        found = gpu.encode_batch(FlatTexts(text.data, text.offsets))
        expected = tokenizer.encode_batch(CpuTexts(text.data, text.offsets))
        framed, lengths = frame(expected.ids, expected.offsets, [], [EOS])
        for packer in WAYS:
            on_device = DeviceRowPacker(
                gpu._backend,  # noqa: SLF001 -- where the ids lie
                packer, eos_id=EOS, columns=COLUMNS, pad_id=0,
            )  # fmt: skip
            parts = [on_device.add(found.ids, found.offsets), on_device.finish()]
            made = [part for part in parts if part is not None]
            wanted = cpu_columns(packer, framed, lengths)
            differences += compare(made, wanted)
            rows += on_device.rows
            tokens += on_device.tokens
    return {"rows": rows, "tokens": tokens, "differences": differences,
            "zero copy": is_zero_copy(made[0]["input_ids"])}  # fmt: skip


def cpu_columns(
    packer: Packer, ids: NDArray[Any], lengths: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the columns of the CPU's packer."""
    pieces = packer.pack(lengths)
    begins = np.concatenate(([0], np.cumsum(lengths)))[pieces.documents] + pieces.begins
    out = np.empty(int(pieces.lengths.sum()), np.uint32)
    gather([ids], np.zeros(len(begins), np.int32), begins, pieces.lengths, out)
    columns = Columns(
        COLUMNS, CONTEXT, 0, shifted_labels=False, ignore_index=-100, continue_positions=False
    )
    return columns.of(Rows(out, pieces))


def compare(made: list[Any], wanted: dict[str, NDArray[Any]]) -> int:
    """Return how many columns differ, read through torch."""
    import torch  # noqa: PLC0415 -- what the rows are for

    wrong = 0
    for name in COLUMNS:
        columns = [torch.from_dlpack(rows[name]).cpu().numpy() for rows in made]
        if name == "cu_seqlens":
            lengths = np.concatenate([np.diff(column) for column in columns])
            wrong += not np.array_equal(lengths, np.diff(wanted[name]))
        else:
            wrong += not np.array_equal(np.concatenate(columns), wanted[name])
    return wrong


def is_zero_copy(array: Any) -> bool:  # noqa: ANN401
    """Does torch read the very memory of the array?"""
    import torch  # noqa: PLC0415

    return int(torch.from_dlpack(array).data_ptr()) == int(array.data.ptr)
