"""The disk under a path: what it is, and how much room it has."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tokenmill._platform.cgroups import read_text

_MOUNTS = Path("/proc/self/mountinfo")
_BLOCKS = Path("/sys/dev/block")
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "9p", "fuse.sshfs"}
_MEMORY = {"tmpfs", "ramfs"}
_VIRTUAL = ("virtio", "vbd-")  # of KVM and Xen


@dataclass(frozen=True)
class DiskFacts:
    """One file system; `kind` is ssd, hdd, virtual, network, memory or unknown."""

    path: str
    file_system: str | None
    kind: str
    total: int
    free: int  # for users without special rights


def read_disk(path: str | os.PathLike[str] = ".") -> DiskFacts:
    """Describe the disk under a path, or under the nearest folder above it that exists."""
    place = Path(path).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    usage = shutil.disk_usage(place)
    device = os.stat(place).st_dev  # noqa: PTH116 -- the number of the device is all we want
    file_system = _file_system(device)
    return DiskFacts(str(place), file_system, _kind(device, file_system), usage.total, usage.free)


def _file_system(device: int) -> str | None:
    number = _number(device)
    for line in read_text(str(_MOUNTS)).splitlines():
        before, dash, after = line.partition(" - ")
        if dash and before.split()[2:3] == [number]:
            return after.split()[0]
    return None


def _number(device: int) -> str:
    """Return the number of a device as the files of the kernel write it; Windows has none."""
    if sys.platform == "win32":
        return "none"
    return f"{os.major(device)}:{os.minor(device)}"


def _kind(device: int, file_system: str | None) -> str:
    if file_system in _NETWORK:
        return "network"
    if file_system in _MEMORY:
        return "memory"
    block = _BLOCKS / _number(device)
    if any(part.startswith(_VIRTUAL) for part in block.resolve().parts):
        return "virtual"  # only the host knows what it is; many say that they rotate
    for folder in (block, block / ".."):  # a partition has its disk above it
        answer = read_text(str(folder / "queue" / "rotational")).strip()
        if answer in ("0", "1"):
            return "hdd" if answer == "1" else "ssd"
    return "unknown"
