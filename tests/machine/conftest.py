"""A machine made of files: what the kernel says about processors, memory and control groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tokenmill._calls import threads
from tokenmill._machine import cpus, disks, gpus, memory
from tokenmill._platform import cgroups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class FakeMachine:
    """Files under one folder, instead of /proc and /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **files: str) -> None:
        """Write files; `__` is a slash."""
        for name, text in files.items():
            self.put(name.replace("__", "/"), text)

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeMachine]:
    """A machine that says nothing until files are written; 8 CPUs are allowed."""
    places = {
        (cgroups, "ROOT"): str(tmp_path / "groups"),
        (cgroups, "MEMBERSHIP"): str(tmp_path / "membership"),
        (cpus, "_CPUS"): tmp_path / "cpus",
        (cpus, "_NODES"): tmp_path / "nodes",
        (cpus, "_CPUINFO"): tmp_path / "cpuinfo",
        (memory, "_MEMINFO"): tmp_path / "meminfo",
        (memory, "_LARGE_PAGES"): tmp_path / "large",
        (disks, "_MOUNTS"): tmp_path / "mounts",
        (disks, "_BLOCKS"): tmp_path / "blocks",
        (gpus, "_DRIVER"): tmp_path / "driver",
    }
    for (module, name), value in places.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for name in ("TOKENMILL_THREADS", "OMP_NUM_THREADS", "TOKENMILL_TARGET"):
        monkeypatch.delenv(name, raising=False)
    threads._quota.cache_clear()
    yield FakeMachine(tmp_path)
    threads._quota.cache_clear()
