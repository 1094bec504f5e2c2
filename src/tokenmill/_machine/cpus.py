"""Processors: cores and their hyperthreads, caches, NUMA nodes, and how much of them we may use."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from tokenmill import _core
from tokenmill._calls.threads import allowed_cpus, available
from tokenmill._errors import TokenmillError
from tokenmill._platform.cgroups import cpu_quota, read_text

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_CPUINFO = Path("/proc/cpuinfo")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class CpuCache:
    """One level of the caches of a processor: its size, and how many CPUs share it."""

    name: str  # L1d, L1i, L2, L3
    bytes: int
    shared_by: int


@dataclass(frozen=True)
class CpuFacts:
    """The processors of a machine, and the part that this process may use."""

    model: str
    architecture: str
    logical: int  # CPUs of the machine, hyperthreads included
    physical: int  # cores of the machine
    smt: int  # hyperthreads of a core that are in use; 1 is none
    allowed: int  # CPUs that the affinity of this process allows
    allowed_cores: int  # cores among them
    quota: float | None  # CPUs that its control groups allow
    threads: int  # what calls use when they are given no number
    caches: tuple[CpuCache, ...]
    numa_nodes: int | None
    targets: tuple[str, ...]  # instruction sets that the engine can use here
    target: str  # the one it uses; "" if TOKENMILL_TARGET names one that it cannot
    problem: str = ""  # what is wrong with TOKENMILL_TARGET or TOKENMILL_THREADS


def read_cpus() -> CpuFacts:
    """Read what the system says about its processors."""
    allowed = allowed_cpus()
    present = set(_present_cpus())
    logical, physical = len(present), count_cores(present)
    threads, thread_problem = _checked_threads()
    target, target_problem = _checked_target()
    return CpuFacts(
        model=_model(),
        architecture=platform.machine(),
        logical=logical,
        physical=physical,
        smt=max(1, round(logical / physical)),
        allowed=len(allowed),
        allowed_cores=count_cores(allowed),
        quota=cpu_quota(),
        threads=threads,
        caches=_caches(min(allowed, default=0)),
        numa_nodes=len(list(_NODES.glob("node[0-9]*"))) or None,
        targets=tuple(_core.targets()),
        target=target,
        problem=thread_problem or target_problem,
    )


def physical_cores() -> int:
    """Return the cores, limited by affinity, control-group quota and TOKENMILL_THREADS."""
    return max(1, min(available(), count_cores(allowed_cpus())))


def count_cores(cpus: set[int]) -> int:
    """Count groups of CPUs that share a core; an unknown CPU counts as a core."""
    return len({_siblings(cpu) or str(cpu) for cpu in cpus})


def _present_cpus() -> list[int]:
    return cpu_numbers(read_text(str(_CPUS / "online"))) or list(range(os.cpu_count() or 1))


def cpu_numbers(text: str) -> list[int]:
    """Read the kernel's form of a list: "0-2,8" -> [0, 1, 2, 8]."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if first.isdigit() and (last.isdigit() or not dash):
            found += range(int(first), int(last if dash else first) + 1)
    return found


def _siblings(cpu: int) -> str:
    for name in ("core_cpus_list", "thread_siblings_list"):  # the old name of the same list
        if text := read_text(str(_CPUS / f"cpu{cpu}" / "topology" / name)).strip():
            return text
    return ""


def _caches(cpu: int) -> tuple[CpuCache, ...]:
    """Read the caches of one CPU; a machine may have cores of another kind, with others."""
    found = []
    for folder in sorted((_CPUS / f"cpu{cpu}" / "cache").glob("index[0-9]*")):
        level, kind, size, shared = (
            read_text(str(folder / name)).strip()
            for name in ("level", "type", "size", "shared_cpu_list")
        )
        if match := re.fullmatch(r"(\d+)([KMG]?)", size):
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
            bytes_ = int(match[1]) * _UNITS.get(match[2], 1)
            found.append(CpuCache(f"L{level}{letter}", bytes_, max(1, len(cpu_numbers(shared)))))
    return tuple(found)


def _model() -> str:
    for line in read_text(str(_CPUINFO)).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model") and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


def _checked_threads() -> tuple[int, str]:
    try:
        return available(), ""
    except TokenmillError as error:
        return len(allowed_cpus()), str(error)


def _checked_target() -> tuple[str, str]:
    try:
        return _core.target(), ""
    except TokenmillError as error:
        return "", str(error)
