"""Lanes of a device: where workers read blocks of lines, and native calls encode them.

A lane has pinned memory of the host and memory of the device for one block, and recorded work. A
worker takes a lane before it reads, so that the bytes of a file are in their place at once; if all
are in use, it reads elsewhere, waits for a lane, and copies.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import SPECIAL_MODES
from tokenmill._core import BlockRules
from tokenmill._cuda.options import CallOptions
from tokenmill._mill.device.jsonl_chunks import Lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._core import Model
    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._cuda.jsonl import JsonlReader
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._read import ReadRules

LANES = 12  # blocks at a time; a worker reads and joins, which takes longer than the device
SMALLEST_LANE = 1 << 20


@dataclass(frozen=True)
class RawJob:
    """How raw blocks are encoded; `prefix` and `suffix` are the ids around each document."""

    rules: ReadRules
    fields: Sequence[str]
    dtype: str
    special_in_text: str
    prefix: Sequence[int] = ()
    suffix: Sequence[int] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """What lanes depend on."""
        around = (*self.prefix, "", *self.suffix)
        return (self.dtype, self.special_in_text, *around, self.rules.block_bytes)


class LineLanes:
    """Lanes of a device for native calls, which many threads may make."""

    def __init__(self, encoder: DeviceEncoder, backend: DeviceBackend, job: RawJob) -> None:
        self.readers: dict[Any, JsonlReader] = {}  # by their rules
        self._making = threading.Lock()
        self._count = 0
        # Pinned memory comes in powers of two, and takes longer to make than anything else here.
        self._size = max(job.rules.block_bytes, SMALLEST_LANE)
        self._backend = backend
        self._lines = encoder.new_lines(CallOptions(job.dtype, special_in_text=job.special_in_text))
        self._rules = BlockRules(
            "",
            list(job.prefix),
            list(job.suffix),
            special_mode=SPECIAL_MODES[job.special_in_text],
            bits=16 if job.dtype == "uint16" else 32,
        )

    def make(self, count: int) -> None:
        """Make lanes until there are as many; calls may be under way."""
        with self._making:
            while self._count < count:
                self._add()
                self._count += 1

    def _add(self) -> None:
        with self._backend.using(None):
            lane = Lane(self._backend, self._size)
            seat = self._lines.add_seat(self._size, lane.slot.lines)
            self._lines.add_lane(lane.host, lane.slot, lane.stream, self._size, seat)

    @property
    def has_free(self) -> bool:
        """Whether a call would find a lane at once."""
        return self._lines.core.free_lanes > 0

    @property
    def spent(self) -> dict[str, float]:
        """Seconds of native calls by step, and their number."""
        return self._lines.core.spent

    def lend(self) -> LentLane | None:
        """Take a lane that its caller reads into; None if all are in use."""
        found = self._lines.lend()
        return None if found is None else LentLane(self, *found)

    def give_back(self, lent: LentLane) -> None:
        """Let others have a lane: nobody needs what is in it."""
        self._lines.core.give_back(lent.number)

    def encode(
        self, model: Model, data: Any, reader: JsonlReader, lent: LentLane | None = None
    ) -> Any:
        """Return what `Model.encode_lines` does, in a lane that was lent or in any other."""
        lines = self._lines
        lane = lent.number if lent is not None and lent.lanes is self else None
        return model.encode_lines(lines.core, data, self._rules, lines.reading(reader), lane)


@dataclass(frozen=True)
class LentLane:
    """A lane that a worker reads its next block into: pinned memory, which saves a copy."""

    lanes: LineLanes
    number: int
    memory: NDArray[np.uint8]
