"""Files that were read before: known by size, times and inode, as `make` and `git` know them.

To hash the bytes of a source takes up to ten milliseconds at every load. A change of a file also
changes its times, so a file that is as it was when its bytes were hashed is not hashed again.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from tokenmill._load.files import companion_names
from tokenmill._model import cache

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_FILES = 500  # of a folder; with more, to list them is no longer cheap
_SETTLED_NS = 2_000_000_000  # a file that is younger may change again without another time


class State:
    """A name for files as they are now, and whether it may be remembered."""

    def __init__(self, name: str, *, is_settled: bool) -> None:
        self.name = name
        self.is_settled = is_settled


def arguments_of(
    path: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    repository: str | None = None,
) -> dict[str, Any]:
    """Return what decides about a model besides the bytes of files."""
    return {
        # The name of a tokenizer comes from these.
        "folders": os.path.realpath(path).split(os.sep)[-2:],
        "hub": repository,
        "pattern": pattern,
        "special_tokens": sorted((special_tokens or {}).items()),
    }


def state_of(path: str, arguments: Mapping[str, Any]) -> State | None:
    """Describe a file and those that belong to it, or all files of a folder; None if they vanish.

    `arguments` is everything else that decides about the model.
    """
    try:
        files = _stats_of_folder(path) if os.path.isdir(path) else _stats_of_file(path)
    except OSError:
        return None
    if files is None:
        return None
    newest = max((max(numbers[-2:]) for numbers in files.values() if numbers), default=0)
    name = cache.key_of([], {**arguments, "form": "state", "state": sorted(files.items())})
    return State(name, is_settled=time.time_ns() - newest > _SETTLED_NS)


def _stats_of_folder(path: str) -> dict[str, tuple[int, ...]] | None:
    with os.scandir(path) as entries:
        found = {entry.name: entry.stat() for entry in entries}
    if len(found) > _MOST_FILES:
        return None
    return {name: _numbers(stat) for name, stat in found.items()}


def _stats_of_file(path: str) -> dict[str, tuple[int, ...]]:
    found = {"": _numbers(os.stat(path))}
    folder, name = os.path.split(path)
    for other in companion_names(name):
        try:
            found[other] = _numbers(os.stat(os.path.join(folder, other)))
        except FileNotFoundError:
            found[other] = ()
    return found


def _numbers(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
