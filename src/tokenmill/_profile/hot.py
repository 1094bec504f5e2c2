"""Samples and allocations -> the functions at the top."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TOP = 10
_OWN = "_profile/launch.py"  # only waits
_ADDRESS = re.compile(r"0x[0-9a-f]+ \((.*)\)")
_LINE = re.compile(r"^(.*):\d+\)$")


@dataclass(frozen=True)
class HotFunction:
    """A function and its part: of samples while it ran, or of bytes that it allocated."""

    name: str
    share: float
    amount: int  # samples or bytes


def hot_functions(stacks: Path) -> list[HotFunction]:
    """Read folded stacks, and count the function at the end of each."""
    counts: Counter[str] = Counter()
    try:
        lines = stacks.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        frames, _, count = line.rpartition(" ")
        if count.isdigit() and _OWN not in frames:
            counts[_name(frames.rpartition(";")[2])] += int(count)
    return _top(counts)


def allocations(stats: Path) -> list[HotFunction]:
    """Read what `memray stats --json` wrote: places by the bytes that they allocated."""
    try:
        value = json.loads(stats.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    total = value["total_bytes_allocated"]
    found = Counter({f["location"]: f["size"] for f in value["top_allocations_by_size"]})
    return _top(found, total)


def _top(counts: Counter[str], total: int | None = None) -> list[HotFunction]:
    total = total or sum(counts.values()) or 1
    return [HotFunction(name, count / total, count) for name, count in counts.most_common(TOP)]


def _name(frame: str) -> str:
    """Drop the line of Python functions; a native one without symbols is its library."""
    if found := _ADDRESS.fullmatch(frame):
        return f"native code of {found[1]}"
    if found := _LINE.match(frame):
        return f"{found[1]})"
    return frame
