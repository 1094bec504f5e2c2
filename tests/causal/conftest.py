"""A machine with memory: batches and files of results depend on what the real one has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokenmill._machine import memory
from tokenmill._platform import cgroups

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of files: 8 GiB available, no groups."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", folder / "meminfo")
    monkeypatch.setattr(cgroups, "ROOT", str(folder / "cgroup"))
    monkeypatch.setattr(cgroups, "MEMBERSHIP", str(folder / "self"))
    return folder
