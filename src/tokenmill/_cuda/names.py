"""Names of devices."""

from __future__ import annotations

import re

from tokenmill._errors import OptionError

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
