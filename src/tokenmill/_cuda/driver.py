"""The driver's functions that native calls use, by address.

CuPy's objects are the driver's: its streams, events and graphs have handles that these functions
take. The driver is loaded already when a device is in use, so nothing is linked or searched for.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tokenmill._cuda.reasons import device_error

_LIBRARY = "libcuda.so.1"
_NAMES = {
    "use_context": "cuCtxSetCurrent",
    "copy": "cuMemcpyAsync",
    "launch": "cuGraphLaunch",
    "record": "cuEventRecord",
    "wait": "cuStreamWaitEvent",
    "synchronize": "cuEventSynchronize",
}


def driver_calls(library: str = _LIBRARY) -> dict[str, int]:
    """Return the address of each function, and the current context of this thread."""
    try:
        driver = ctypes.CDLL(library)
        found = {name: _address(getattr(driver, function)) for name, function in _NAMES.items()}
        context = ctypes.c_void_p()
        error = driver.cuCtxGetCurrent(ctypes.byref(context))
    except (OSError, AttributeError) as problem:
        raise device_error("no_driver", str(problem)) from problem
    if error or not context.value:
        raise device_error("device_failed", f"cuCtxGetCurrent: {error}")
    return {**found, "context": context.value}


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
