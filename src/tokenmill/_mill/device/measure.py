"""Where a run tokenizes with "auto": both take the first block of the input, and are timed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokenmill._errors import TokenmillError
from tokenmill._mill.device.line_lanes import LANES
from tokenmill._mill.meter import Meter
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._mill.run.encode_at_once import AtOnce
from tokenmill._read import open_stream

if TYPE_CHECKING:
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.plan.task import Task
    from tokenmill._read import RawBlock

WORTH_OPENING = 256 << 20  # bytes of input: a device is opened in seconds, the CPU needs less here
_ROUNDS = 3  # the first fills tables


@dataclass(frozen=True)
class BlockTimes:
    """Seconds that a worker needs for one block, on the CPU and with a device."""

    size: int
    cpu: float
    device: float

    @property
    def prefers_device(self) -> bool:
        """Whether workers get further with the device."""
        return self.device < self.cpu

    def comparison(self, name: str) -> str:
        """Describe both for people.

        a block of 8.4 MB took a worker 21.3 ms on the CPU, 2.9 ms with cuda:0
        """
        times = f"{1e3 * self.cpu:.1f} ms on the CPU, {1e3 * self.device:.1f} ms with {name}"
        return f"a block of {self.size / 1e6:.1f} MB took a worker {times}"


def too_small(task: Task) -> str:
    """Return why the input is not worth a device; "" if it is, or if its size is not known."""
    size = task.plan.total_bytes
    if not 0 < size < WORTH_OPENING:
        return ""
    return f"{size / 1e6:.1f} MB of input, and a GPU is opened for {WORTH_OPENING / 1e6:.0f} MB"


def measure_blocks(task: Task, device: BlockDevice, workers: int) -> BlockTimes | None:
    """Time the first block; None if it cannot be read twice, or not read at all."""
    raw = _first_block(task)
    if raw is None:
        return None
    plan = task.plan
    common = (task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, Meter())
    at_once = AtOnce.of(task.tokenizer, plan.settings, plan.rules, plan.fields)
    try:
        here = _shortest(BlockEncoder(*common, at_once=at_once), raw)
        there = _shortest(BlockEncoder(*common, device=device), raw)
    except TokenmillError:
        return None  # of a record: the run reports it with its place
    # More workers than lanes wait for each other.
    return BlockTimes(raw.text_bytes, here, there * max(1.0, workers / LANES))


def _first_block(task: Task) -> RawBlock | None:
    plan = task.plan
    if not plan.streams or not plan.streams[0].resumable:
        return None
    reader = open_stream(plan.streams[0], plan.files, plan.rules, plan.fields)
    try:
        raw = reader.read()
    except TokenmillError:
        return None
    finally:
        reader.close()
    return raw if raw is not None and raw.parts else None


def _shortest(encoder: BlockEncoder, raw: RawBlock) -> float:
    times = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        encoder(replace(raw))
        times.append(time.perf_counter() - begin)
    return min(times)
