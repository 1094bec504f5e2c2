"""`describe_machine`: everything about this machine that decides how fast a run can be."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from tokenmill import __version__
from tokenmill._machine.cpus import CpuFacts, read_cpus
from tokenmill._machine.disks import DiskFacts, read_disk
from tokenmill._machine.gpus import GpuFacts, read_gpus
from tokenmill._machine.memory import MemoryFacts, read_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a run may depend on; those that are not installed are left out.
_PACKAGES = (
    "numpy", "pyarrow", "isal", "backports.zstd", "xxhash", "tokenizers", "transformers",
    "datasets", "tiktoken", "sentencepiece", "torch", "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip
_VARIABLES = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MALLOC_ARENA_MAX", "LD_PRELOAD")
_SECRET = "TOKENMILL_TOKEN"  # noqa: S105 -- the name of the variable


@dataclass(frozen=True)
class MachineFacts:
    """A machine as this process sees it, and the versions of what runs on it."""

    cpu: CpuFacts
    memory: MemoryFacts
    disk: DiskFacts
    gpu: GpuFacts | None  # None: not asked
    system: str
    versions: Mapping[str, str]
    environment: Mapping[str, str]  # variables that change how tokenmill runs

    def as_json(self) -> dict[str, Any]:
        """Return plain values: dictionaries, lists, numbers and strings."""
        return asdict(self)


def describe_machine(path: str | os.PathLike[str] = ".", *, gpu: bool = True) -> MachineFacts:
    """Describe this machine; `path` is where a run reads or writes.

    Asking for the GPU imports CuPy where it is installed, which takes seconds.
    """
    return MachineFacts(
        cpu=read_cpus(),
        memory=read_memory(),
        disk=read_disk(path),
        gpu=read_gpus() if gpu else None,
        system=" ".join(filter(None, (platform.system(), platform.release(), _libc()))),
        versions=_versions(),
        environment=_environment(),
    )


def _versions() -> dict[str, str]:
    found = {"tokenmill": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _environment() -> dict[str, str]:
    """Return our variables, but not the token of the service."""
    return {
        name: "(set)" if name == _SECRET else value
        for name, value in sorted(os.environ.items())
        if name.startswith("TOKENMILL_") or name in _VARIABLES
    }


def _libc() -> str:
    name, version = platform.libc_ver()
    return f"({name} {version})" if name else ""
