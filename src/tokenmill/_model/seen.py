"""Files that were read before: known by size, times and inode, as `make` and `git` know them.

To hash the bytes of a source takes up to ten milliseconds at every load. A change of a file also
changes its times, so a file that is as it was when its bytes were hashed is not hashed again.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill._load.files import companions
from tokenmill._model import cache

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_FILES = 500  # of a folder; with more, to list them is no longer cheap
_SETTLED_NS = 2_000_000_000  # a file that is younger may change again without another time


class State(NamedTuple):
    """A name for files as they are now, and whether it may be remembered."""

    name: str
    is_settled: bool


def state_of(path: Path, arguments: Mapping[str, Any]) -> State | None:
    """Describe a file and those that belong to it, or all files of a folder; None if they vanish.

    `arguments` is everything else that decides about the model.
    """
    try:
        files = _stats_of_folder(path) if path.is_dir() else _stats_of_file(path)
    except OSError:
        return None
    if files is None:
        return None
    newest = max((max(numbers[-2:]) for numbers in files.values() if numbers), default=0)
    name = cache.key_of([], {**arguments, "form": "state", "state": sorted(files.items())})
    return State(name, time.time_ns() - newest > _SETTLED_NS)


def _stats_of_folder(path: Path) -> dict[str, tuple[int, ...]] | None:
    with os.scandir(path) as entries:
        found = {entry.name: entry.stat() for entry in entries}
    if len(found) > _MOST_FILES:
        return None
    return {name: _numbers(stat) for name, stat in found.items()}


def _stats_of_file(path: Path) -> dict[str, tuple[int, ...]]:
    found = {"": _numbers(path.stat())}
    for other in companions(path):
        try:
            found[other.name] = _numbers(other.stat())
        except FileNotFoundError:
            found[other.name] = ()
    return found


def _numbers(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
