"""The stream of rows as an IterableDataset; in its own module, because it imports PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset

from tokenmill._mill.device.rows import DeviceRowStream


class TorchDeviceRowStream(DeviceRowStream, IterableDataset):  # type: ignore[misc]
    """A DeviceRowStream that is a `torch.utils.data.IterableDataset` and yields tensors."""

    def _exported(self, array: Any) -> Any:
        if isinstance(array, np.ndarray):
            return torch.from_numpy(array)
        return torch.from_dlpack(array)
