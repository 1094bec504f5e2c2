"""Where a device pays: measured times of the CPU engine and of a device on the caller's texts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._cuda.texts import slice_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._cuda.texts import TextPart

SAMPLE_BYTES = 1 << 20  # the larger of the two measured sizes
_FEW = 16  # the smaller one has this part of the bytes
_ROUNDS = 3


@dataclass(frozen=True)
class CallTime:
    """How long a call takes: `start` seconds, and `per_byte` more for each byte of text."""

    start: float
    per_byte: float

    def of(self, size: int) -> float:
        """Return the seconds for that many bytes."""
        return self.start + size * self.per_byte


@dataclass(frozen=True)
class Crossover:
    """Times of both for one kind of input."""

    cpu: CallTime
    device: CallTime

    def prefers_device(self, size: int) -> bool:
        """Check whether the device is faster for so many bytes."""
        return self.device.of(size) < self.cpu.of(size)

    def comparison(self, size: int, kind: str, name: str) -> str:
        """Describe both times for people.

        12 KB of str: about 0.020 ms on the CPU, 0.100 ms on cuda:0
        """
        cpu, device = (1e3 * line.of(size) for line in (self.cpu, self.device))
        amount = f"{size / 1e6:.1f} MB" if size >= SAMPLE_BYTES else f"{size / 1e3:.1f} KB"
        return f"{amount} of {kind}: about {cpu:.3f} ms on the CPU, {device:.3f} ms on {name}"


def measure(
    parts: Sequence[TextPart],
    on_cpu: Callable[[TextPart], object],
    on_device: Callable[[TextPart], object],
) -> Crossover:
    """Time both on the first documents of a call, about a megabyte and a part of it."""
    part = parts[0]
    samples = [_head(part, SAMPLE_BYTES // _FEW), _head(part, SAMPLE_BYTES)]
    return Crossover(_line(samples, on_cpu), _line(samples, on_device))


def _head(part: TextPart, size: int) -> TextPart:
    end = int(np.searchsorted(part.offsets, part.offsets[0] + size))
    return slice_of(part, 0, min(max(end, 1), len(part)), 0)


def _line(samples: list[TextPart], encode: Callable[[TextPart], object]) -> CallTime:
    few, many = (_shortest(sample, encode) for sample in samples)
    more = samples[1].size - samples[0].size
    per_byte = max(many - few, 0.0) / more if more > 0 else many / max(samples[1].size, 1)
    return CallTime(max(few - samples[0].size * per_byte, 0.0), per_byte)


def _shortest(sample: TextPart, encode: Callable[[TextPart], object]) -> float:
    """Return the seconds of the fastest round: the first one fills tables."""
    times = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        encode(sample)
        times.append(time.perf_counter() - begin)
    return min(times)
