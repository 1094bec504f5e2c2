"""Machines that exist only as a formula: the time of a setting, and noise on top of it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokenmill._config.configuration import TABLES
from tokenmill._tune.search import TuneTrial
from tokenmill._tune.space import TuneSetting, TuneSpace

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20


def space(threads: int) -> TuneSpace:
    choices = {
        "threads": tuple(range(1, threads + 1)),
        "block_bytes": tuple(MIB << n for n in range(6)),
        "tables": TABLES,
        "device": ("cpu",),
    }
    return TuneSpace(choices, TuneSetting(threads, 8 * MIB, "usual", "cpu"))


def one_core(setting: TuneSetting) -> float:
    """Nothing helps: the defaults are right."""
    return 1.0 + {"usual": 0.0, "small": 0.08, "tiny": 0.5}[setting.tables]


def one_gz_file(setting: TuneSetting) -> float:
    """A decompressor that takes a second, whatever the workers do; many of them are in its way."""
    work = 1.6 * {"usual": 1.0, "small": 1.1, "tiny": 1.6}[setting.tables] / setting.threads
    return max(1.0, work) + 0.02 * setting.threads + 0.002 * (setting.block_bytes / MIB)


def plain(setting: TuneSetting) -> float:
    """Workers scale until the caches are full: fewer threads with smaller tables win."""
    crowd = (
        1 + (setting.threads / 12) ** 4 * {"usual": 1.0, "small": 0.25, "tiny": 0.2}[setting.tables]
    )
    table = {"usual": 1.0, "small": 1.04, "tiny": 1.9}[setting.tables]
    blocks = 1 + 0.02 * abs(math.log2(setting.block_bytes / (4 * MIB)))
    return 8 * table * crowd * blocks / setting.threads


@dataclass
class Simulated:
    """Measures settings of a formula; every run has noise of its own, the same in every test."""

    truth: Callable[[TuneSetting], float]
    noise: float = 0.01
    seed: int = 0
    runs: list[TuneSetting] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 -- test data

    def __call__(self, setting: TuneSetting) -> TuneTrial:
        self.runs.append(setting)
        factor = math.exp(self._chance.gauss(0, self.noise))
        return TuneTrial(setting, self.truth(setting) * factor)
