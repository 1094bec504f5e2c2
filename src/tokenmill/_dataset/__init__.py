"""dataset: finished outputs -> rows for a trainer, with or without PyTorch."""

from __future__ import annotations

from tokenmill._dataset.dataset import COLUMNS, PackedDataset
from tokenmill._dataset.iterable import PackedIterable

__all__ = ["COLUMNS", "PackedDataset", "PackedIterable"]
