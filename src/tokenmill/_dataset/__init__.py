"""dataset: finished outputs -> rows for a trainer, with or without PyTorch."""

from __future__ import annotations

from tokenmill._dataset.dataset import PackedDataset
from tokenmill._dataset.iterable import PackedIterable
from tokenmill._pack import COLUMNS

__all__ = ["COLUMNS", "PackedDataset", "PackedIterable"]
