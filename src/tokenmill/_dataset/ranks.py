"""Which share of the data this process reads: its rank among ranks, its worker among workers."""

from __future__ import annotations

import os
import sys

from tokenmill._errors import OptionError


def worker_of_loader() -> tuple[int, int]:
    """Return the number of this worker of a DataLoader, and how many there are."""
    loading = sys.modules.get("torch.utils.data")
    info = loading.get_worker_info() if loading is not None else None
    return (0, 1) if info is None else (info.id, info.num_workers)


def place_of(rank: int | None, ranks: int | None) -> tuple[int, int]:
    """Return the rank and the number of ranks: as given, or those of this process."""
    if (rank is None) != (ranks is None):
        raise OptionError("expected rank and ranks, or neither, got one of them", where="rank")
    if rank is None or ranks is None:
        rank, ranks = _place_of_process()
    if not 0 <= rank < ranks:
        raise OptionError(f"expected a rank from 0 to below {ranks}, got {rank}", where="rank")
    return rank, ranks


def _place_of_process() -> tuple[int, int]:
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
