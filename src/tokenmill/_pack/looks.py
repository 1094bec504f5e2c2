"""RowLooks: the options that decide what a trainer gets of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._checks import one_of
from tokenmill._errors import OptionError
from tokenmill._pack.derive import IGNORE_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = (
    "input_ids", "labels", "position_ids", "segment_ids", "attention_mask", "cu_seqlens",
)  # fmt: skip
DTYPES = ("int32", "int64")


@dataclass(frozen=True)
class RowLooks:
    """Which columns rows have, and how they look: the keywords of PackedDataset and of the GPU.

    `dtype` is that of every column except "segment_ids" and "cu_seqlens", which are int32.
    `shifted_labels`, `ignore_index`: see `labels`. `continue_positions`: see `position_ids`.
    """

    columns: Sequence[str] = ("input_ids", "labels")
    dtype: str = "int64"
    shifted_labels: bool = False
    ignore_index: int = IGNORE_INDEX
    continue_positions: bool = False

    def __post_init__(self) -> None:
        wrong = [name for name in self.columns if name not in COLUMNS]
        if wrong or not self.columns or isinstance(self.columns, str):
            expected = ", ".join(map(repr, COLUMNS))
            problem = f"expected a list of {expected}, got {self.columns!r}"
            raise OptionError(problem, where="columns")
        object.__setattr__(self, "columns", tuple(self.columns))  # a list could change
        one_of("dtype", self.dtype, DTYPES)
