"""PackedIterable: rows in order, divided among ranks and workers; it can be resumed."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._checks import one_of, whole_number
from tokenmill._dataset.order import REMAINDERS, Mixture, Permutation, Share
from tokenmill._dataset.ranks import place_of, worker_of_loader
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokenmill._dataset.dataset import PackedDataset
    from tokenmill._dataset.order import Remainder

    Order = Callable[[NDArray[np.int64]], NDArray[np.int64]]

_RESOLVED_AT_ONCE = 64  # units: one lookup costs as much as a thousand


class PackedIterable:
    """Rows of a PackedDataset in a deterministic order, one epoch for each `iter()`.

    It yields rows, or with `batch_size` tables of that many rows; both are called *units* here.
    With a DataLoader, pass `batch_size` here and `DataLoader(..., batch_size=None)`: then the units
    arrive in the same order for any number of workers.

    `shuffle` gives each epoch another order, by `seed` and the number of the epoch. `rank` and
    `ranks` default to those of `torch.distributed` if it is running, else to the variables RANK and
    WORLD_SIZE, else to 0 of 1. Over all ranks and workers, every row is read exactly once per
    epoch. `remainder` decides about the last rows, if they are too few for one unit on every rank:
    "uneven" divides them (a rank may get one unit more than another, or a smaller one), "drop"
    leaves them out of this epoch, "repeat" adds the first rows of the epoch.

    `weights`, one for each output, mix the outputs: an epoch is `epoch_rows` rows (by default as
    many as there are), of each output in proportion to its weight. All rows of an output are read
    before any is repeated, across epochs too.

    After its last unit, an iterable continues with the next epoch. Workers of a DataLoader that
    are not persistent start with a copy each time: call `set_epoch` before each epoch.
    """

    def __init__(
        self,
        dataset: PackedDataset,
        *,
        batch_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        rank: int | None = None,
        ranks: int | None = None,
        remainder: Remainder = "uneven",
        weights: Sequence[float] | None = None,
        epoch_rows: int | None = None,
    ) -> None:
        rank, ranks = place_of(rank, ranks)
        one_of("remainder", remainder, REMAINDERS)
        if epoch_rows is not None and weights is None:
            raise OptionError("has no effect without weights", where="epoch_rows")
        rows = len(dataset) if epoch_rows is None else whole_number("epoch_rows", epoch_rows)
        batch = 1 if batch_size is None else whole_number("batch_size", batch_size)
        self.dataset = dataset
        self.epoch = 0
        self._share = Share(rows, batch, rank, ranks, remainder)
        self._yields_rows = batch_size is None
        self._seed, self._shuffle = operator.index(seed), shuffle
        self._mixture: Mixture | None = None
        if weights is not None:
            self._mixture = Mixture(dataset.output_rows, weights, self._seed, shuffle=shuffle)
        self._weights = None if weights is None else list(map(float, weights))
        # Units before `start` are done; this worker has yielded `given` of the others.
        self._start, self._given = 0, 0
        self._worker = (0, 1)
        self._is_resumed = False

    def __len__(self) -> int:
        return self._share.units

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker, workers = self._start_epoch()
        first = self._start + self._given * workers + worker
        order = self._order()
        units = range(first, self._share.units, workers)
        for begin in range(0, len(units), _RESOLVED_AT_ONCE):
            places = [self._share.places(u) for u in units[begin : begin + _RESOLVED_AT_ONCE]]
            rows = order(np.concatenate(places))
            for some in np.split(rows, np.cumsum([len(place) for place in places])[:-1]):
                self._given += 1
                yield self.dataset[int(some[0])] if self._yields_rows else self.dataset.batch(some)
        self.set_epoch(self.epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Start with this epoch the next time; a place to resume from is forgotten."""
        self.epoch = operator.index(epoch)
        self._start, self._given, self._is_resumed = 0, 0, False

    def state_dict(self, delivered: int | None = None) -> dict[str, Any]:
        """Return a place for `load_state_dict` to resume from.

        If it is iterated in this process, or by a loader that keeps the states of its workers, it
        knows how many units it has yielded. With workers of a plain DataLoader, pass the number of
        units `delivered` in this epoch since it started or was resumed. Such a state, and one from
        an iterable without workers, can be resumed with any number of workers.
        """
        state = {"epoch": self.epoch, "start": self._start, "given": self._given,
                 "worker": list(self._worker), "order": self._identity()}  # fmt: skip
        if delivered is not None:
            state |= {"start": self._start + delivered, "given": 0, "worker": [0, 1]}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a place: the next `iter()` continues with the unit after it."""
        mine = self._identity()
        for name, value in state["order"].items():
            if mine.get(name) != value:
                problem = f"expected the {name} of the state, {value!r}, got {mine.get(name)!r}"
                raise OptionError(
                    problem, hint="resume with the same order: a place is valid only in one"
                )
        self.epoch, self._start = state["epoch"], state["start"]
        self._given, self._worker = state["given"], (state["worker"][0], state["worker"][1])
        if self._worker[1] == 1:
            self._start, self._given = self._start + self._given, 0
        self._is_resumed = True

    def _start_epoch(self) -> tuple[int, int]:
        """Start the epoch, or resume it; return this worker and the number of workers."""
        here = worker_of_loader()
        if not self._is_resumed:
            self._start, self._given = 0, 0
        elif self._given and self._worker != here:
            problem = f"expected worker {self._worker[0]} of {self._worker[1]}"
            hint = "resume with as many workers, or from a state made with `delivered`"
            raise OptionError(f"{problem}, got {here[0]} of {here[1]}", where="state", hint=hint)
        self._worker, self._is_resumed = here, False
        return here

    def _order(self) -> Order:
        rows, epoch = self._share.rows, self.epoch
        if self._mixture is not None:
            mixture = self._mixture
            return lambda places: mixture(places + epoch * rows)
        if self._shuffle:
            return Permutation(rows, self._seed, epoch)
        return lambda places: places

    def _identity(self) -> dict[str, Any]:
        """Return what places depend on. Ranks may change if the rows per step do not."""
        share = self._share
        return {
            "rows": share.rows,
            "rows a step": share.batch * share.ranks,
            "remainder": share.remainder,
            "seed": self._seed,
            "shuffle": self._shuffle,
            "weights": self._weights,
        }
