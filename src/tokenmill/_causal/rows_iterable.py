"""RowsIterable: the iterable in an IterableDataset of rows. Imports `datasets`."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from datasets.iterable_dataset import ArrowExamplesIterable

if TYPE_CHECKING:
    import numpy as np

_MOST_EPOCHS = 2**31


class RowsIterable(ArrowExamplesIterable):  # type: ignore[misc]  # datasets has no types
    """Tables of the rows of `kwargs["dataset"]`.

    `datasets` asks for another order if the result is shuffled or gets another epoch. The order of
    rows is that of their documents, so the source gets another epoch.
    """

    def shuffle_data_sources(self, generator: np.random.Generator) -> RowsIterable:
        """Return the rows of the same source in another epoch."""
        source = self.kwargs["dataset"].with_format(None)  # a copy: the original keeps its epoch
        source.set_epoch(int(deepcopy(generator).integers(1, _MOST_EPOCHS)))
        return type(self)(self.generate_tables_fn, {**self.kwargs, "dataset": source})
