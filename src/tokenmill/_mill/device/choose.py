"""Where the mill tokenizes: on the CPU, or on devices that encode the blocks of all workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tokenmill._cuda.names import device_numbers
from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.device.shared_encoder import SharedEncoder
    from tokenmill._mill.plan.task import Task
    from tokenmill._tokenizer import Tokenizer


OPENED_BEHIND = 256 << 20  # bytes of input: the CPU starts with so much while a device is opened


@dataclass(frozen=True)
class Device:
    """What tokenizes: `encoder` is None on the CPU; `why` is the reason if "auto" chose it."""

    name: str
    encoder: BlockDevice | None = None
    why: str = ""

    @property
    def note(self) -> str:
        """For people: why it was chosen, and what the CPU did in its place; "" on the CPU."""
        if self.encoder is None:
            return self.why
        if not self.encoder.is_open:
            return "the CPU encoded everything before it was open"
        fallbacks, left = self.encoder.fallbacks, self.encoder.left_to_reader
        words = ["encoded all documents"]
        if before := self.encoder.blocks_before:
            words = [f"the CPU encoded {before:,} blocks while it was opened, then it encoded all"]
        if fallbacks:
            counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(fallbacks.items()))
            words[0] += f" except these, which the CPU encoded: {counts}"
        if left:
            words.append(f"left {left:,} blocks of lines to the CPU's reader")
        return "; ".join([*words, self.why] if self.why else words)


CPU = Device("cpu")


def choose_device(device: str, task: Task, workers: int = 1) -> Device:
    """Open what was asked for. It never changes an id, so it is not part of a plan.

    "cpu"; "cuda", "cuda:1", "cuda:0,cuda:1" or "cuda:all", which raises if such a device cannot be
    used (a large input is begun by the CPU, and the run raises); or "auto", which measures both on
    the first block and takes the faster one. With "auto", the CPU also does what the device fails
    at later. The result has the reason.
    """
    if device == "cpu":
        return CPU
    asked = device_numbers(device, _count_devices)
    if asked is None:
        return _choose_faster(task, workers)
    name = ",".join(f"cuda:{number}" for number in asked)
    if task.plan.total_bytes < OPENED_BEHIND:
        return Device(name, _open_all(task, asked))
    from tokenmill._mill.device.opening import OpeningDevice

    if find_spec("cupy") is None:
        _find_device(asked[0])  # raises; all else is found out while the CPU works: it takes longer
    opening = OpeningDevice(partial(_open_all, task, asked), partial(_prepare, task), workers)
    return Device(name, opening)


def _open_all(task: Task, numbers: Sequence[int]) -> BlockDevice:
    """Open devices."""
    from tokenmill._mill.device.block_device import SeveralDevices

    made = [_open_shared(task.tokenizer, number) for number in numbers]
    return made[0] if len(made) == 1 else SeveralDevices(made)


def _prepare(task: Task, device: BlockDevice) -> None:
    """Make the memory that raw blocks need on a device; without it, the first block makes it."""
    from tokenmill._mill.device.line_lanes import RawJob

    plan = task.plan
    s = plan.settings
    if not s.validation and any(file.format == "jsonl" for file in plan.files):
        job = RawJob(plan.rules, plan.fields, s.dtype, s.special_in_text, *s.ids_around)
        device.prepare_raw(job)


def _choose_faster(task: Task, workers: int) -> Device:
    from tokenmill._mill.device.measure import measure_blocks, too_small

    try:
        _find_device(0)
        if why := too_small(task):
            return Device("cpu", why=why)
        encoder = _open_shared(task.tokenizer, 0, stand_in=task.tokenizer)
    except TokenmillError as error:
        return Device("cpu", why=f"no GPU: {error}")
    times = measure_blocks(task, encoder, workers)
    if times is None:
        return Device("cuda:0", encoder)
    why = times.comparison("cuda:0")
    return Device("cuda:0", encoder, why) if times.prefers_device else Device("cpu", why=why)


def _open_shared(
    tokenizer: Tokenizer, number: int, stand_in: Tokenizer | None = None
) -> SharedEncoder:
    from tokenmill._mill.device.shared_encoder import SharedEncoder

    return SharedEncoder(_open_device(tokenizer, number), stand_in=stand_in)


def _open_device(tokenizer: Tokenizer, number: int) -> DeviceEncoder:
    from tokenmill._cuda.encoder import open_encoder  # not needed on the CPU

    return open_encoder(tokenizer.ready, number)


def _find_device(number: int) -> None:
    """Raise if there is no such device; it is not opened."""
    from tokenmill._cuda.cupy_backend import connect_cupy

    connect_cupy(number)


def _count_devices() -> int:
    from tokenmill._cuda.cupy_backend import count_devices

    return count_devices()
