"""Names of devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

_DEVICE = re.compile(r"cuda(?::([0-9]+))?")


def device_number(device: object) -> int | None:
    """Return the number of a device by its name, None for "auto"; OptionError for another name.

    "cuda" -> 0; "cuda:1" -> 1
    """
    if device == "auto":
        return None
    found = _DEVICE.fullmatch(device) if isinstance(device, str) else None
    if found is None:
        problem = f"expected 'cpu', 'cuda', 'cuda:1' or 'auto', got {device!r}"
        raise OptionError(problem, where="device")
    return int(found[1] or 0)


def device_numbers(device: object, count: Callable[[], int]) -> list[int] | None:
    """Return the numbers of one or several devices; None for "auto". `count` counts all.

    "cuda:1" -> [1]; "cuda:0,cuda:2" -> [0, 2]; "cuda:all" with two devices -> [0, 1]
    """
    if device == "cuda:all":
        return list(range(max(count(), 1)))
    names = device.split(",") if isinstance(device, str) else []
    if len(names) < 2:  # noqa: PLR2004
        number = device_number(device)
        return None if number is None else [number]
    found = [device_number(name.strip()) for name in names]
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(found) or len({*numbers}) < len(numbers):
        problem = f"expected different devices such as 'cuda:0,cuda:1', got {device!r}"
        raise OptionError(problem, where="device")
    return numbers
