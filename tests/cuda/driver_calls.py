"""The driver's functions of a test device, as C functions that native calls can use."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cuda.devices import HostDevice

_NUMBER, _SIZE = ctypes.c_uint64, ctypes.c_size_t
_TYPES = {
    "use_context": (_NUMBER,),
    "copy": (_NUMBER, _NUMBER, _SIZE, _NUMBER),
    "launch": (_NUMBER, _NUMBER),
    "record": (_NUMBER, _NUMBER),
    "wait": (_NUMBER, _NUMBER, ctypes.c_uint),
    "synchronize": (_NUMBER,),
}
_CONTEXT = 77


class DriverCalls:
    """Handles of streams, marks and graphs, and functions that take them.

    `failing` is the name of a function that returns an error.
    """

    def __init__(self, device: HostDevice) -> None:
        self._device = device
        self._things: dict[int, Any] = {}
        self._functions: dict[str, Any] = {}
        self.failing = ""
        self.calls: list[str] = []

    def handle(self, thing: object) -> int:
        self._things[id(thing)] = thing
        return id(thing)

    def addresses(self) -> dict[str, int]:
        for name, types in _TYPES.items():
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *types)
            self._functions[name] = kind(self._safely(name, getattr(self, f"_{name}")))
        found = {
            name: int(ctypes.cast(call, ctypes.c_void_p).value or 0)
            for name, call in self._functions.items()
        }
        return {**found, "context": _CONTEXT}

    def _safely(self, name: str, call: Callable[..., None]) -> Callable[..., int]:
        def made(*numbers: int) -> int:
            self.calls.append(name)
            if name == self.failing:
                return 700
            try:
                call(*numbers)
            except Exception:
                return 999  # an exception cannot pass through C
            return 0

        return made

    def _use_context(self, context: int) -> None:
        assert context == _CONTEXT

    def _copy(self, to: int, source: int, size: int, stream: int) -> None:
        self._things[stream].put(lambda: ctypes.memmove(to, source, size))

    def _launch(self, graph: int, stream: int) -> None:
        with self._device.using(self._things[stream]):
            self._things[graph].launch()

    def _record(self, event: int, stream: int) -> None:
        self._things[event].__init__(self._things[stream])

    def _wait(self, stream: int, event: int, flags: int) -> None:
        assert flags == 0
        mark = self._things[event]
        self._things[stream].put(type(mark).of(mark).synchronize)

    def _synchronize(self, event: int) -> None:
        self._things[event].synchronize()
