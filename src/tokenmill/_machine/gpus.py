"""GPUs: which there are, and why the engine cannot use them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._errors import DeviceError
from tokenmill._platform.cgroups import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

_DRIVER = Path("/proc/driver/nvidia")


@dataclass(frozen=True)
class Gpu:
    """One device; capability and memory are known once CuPy can ask the driver."""

    name: str
    capability: str | None = None
    memory: int | None = None


@dataclass(frozen=True)
class GpuFacts:
    """The devices of a machine; `why_not` and `hint` are empty if `pack --device cuda` can run."""

    devices: tuple[Gpu, ...]
    driver: str | None
    why_not: str
    hint: str


def read_gpus(probe: Callable[[], list[Gpu]] | None = None) -> GpuFacts:
    """Ask CuPy, as the engine does; without it, list what the driver lists."""
    try:
        devices, why_not, hint = (probe or _probe)(), "", ""
    except DeviceError as error:
        devices, why_not, hint = _listed_by_driver(), error.problem, error.hint or ""
    return GpuFacts(tuple(devices), _driver_version(), why_not, str(hint))


def _probe() -> list[Gpu]:
    from tokenmill._cuda.cupy_backend import count_devices, device_facts  # imports numpy

    return [Gpu(**device_facts(number)) for number in range(max(1, count_devices()))]


def _listed_by_driver() -> list[Gpu]:
    files = sorted((_DRIVER / "gpus").glob("*/information"))
    lines = (line for file in files for line in read_text(str(file)).splitlines())
    return [Gpu(line.partition(":")[2].strip()) for line in lines if line.startswith("Model:")]


def _driver_version() -> str | None:
    """Return the version of the kernel's NVIDIA driver: a number in its first line."""
    first = read_text(str(_DRIVER / "version")).partition("\n")[0]
    numbers = [word for word in first.split() if word[:1].isdigit() and "." in word]
    return numbers[0] if numbers else None
