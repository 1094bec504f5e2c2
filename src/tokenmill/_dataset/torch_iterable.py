"""The iterable as an IterableDataset; in its own module, because it imports PyTorch."""

from __future__ import annotations

from torch.utils.data import IterableDataset

from tokenmill._dataset.iterable import PackedIterable


class TorchPackedIterable(PackedIterable, IterableDataset):  # type: ignore[misc]
    """A PackedIterable that is a `torch.utils.data.IterableDataset`."""
