"""A device for tests: the kernels as a host library, and streams that work as late as they can.

Work on a stream is not done before someone waits for a mark after it. So code that reads a result
too early, or overwrites memory that a copy still needs, gets wrong ids here every time.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from tests.cuda.driver_calls import DriverCalls
from tests.cuda.shim import ShimBackend, build

from tokenmill._cuda.reasons import device_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import Connect


class DeviceMemory(np.ndarray[Any, Any]):
    """An array that plays the part of device memory."""


_LOCK = threading.RLock()  # the host library has one set of shared memory for all threads


class Stream:
    """Work in order, none of it done yet."""

    def __init__(self) -> None:
        self.work: deque[Callable[[], None]] = deque()
        self.taken = 0
        self.done = 0

    def put(self, work: Callable[[], None]) -> None:
        with _LOCK:
            self.work.append(work)
            self.taken += 1

    def run(self, until: int) -> None:
        with _LOCK:
            while self.done < until:
                self.done += 1  # first: work that waits for a later mark would never end
                self.work.popleft()()


class Mark:
    def __init__(self, stream: Stream) -> None:
        self._stream, self._place = stream, stream.taken

    @staticmethod
    def of(other: Mark) -> Mark:
        """Return a mark of the same place, which stays when the other moves on."""
        made = Mark(other._stream)
        made._place = other._place
        return made

    def synchronize(self) -> None:
        self._stream.run(self._place)


class Graph:
    def __init__(self, device: HostDevice, works: list[Callable[[], None]]) -> None:
        self._device, self._works = device, works

    def launch(self) -> None:
        self._device.graphs_launched += 1
        for work in self._works:
            self._device.put(work)


class HostDevice(ShimBackend):
    """Everything the engine asks of a device."""

    processors = 2

    def __init__(
        self, library: Path, number: int = 0, memory: int = 1 << 40, shuffle: int | None = None
    ) -> None:
        super().__init__(library, shuffle)
        self.name = f"host:{number}"
        self.memory = memory
        self.graphs_launched = self.uploaded = 0
        self._own = Stream()
        self._current = threading.local()
        self._pinned: list[NDArray[Any]] = []
        self._calls = DriverCalls(self)
        # A pool gives memory to nobody else before the work of its stream that uses it is done.
        self._pool: list[NDArray[Any]] = []

    @property
    def _stream(self) -> Stream:
        """The current stream of this thread."""
        found: Stream = getattr(self._current, "stream", self._own)
        return found

    def launch(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        self.put(lambda: self.run_kernel(name, blocks, threads, tables, batch))

    def put(self, work: Callable[[], None]) -> None:
        """Put work on the current stream, or into the graph that is being captured."""
        recording: list[Callable[[], None]] | None = getattr(self._current, "recording", None)
        if recording is not None:  # by this thread
            recording.append(work)
        else:
            self._stream.put(work)

    def run_kernel(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        super().launch(name, blocks, threads, tables, batch)

    def capture(self, work: Callable[[], None]) -> Graph:
        works: list[Callable[[], None]] = []
        self._current.recording = works
        work()
        self._current.recording = None
        return Graph(self, works)

    def together(self, works: Sequence[Callable[[], None]]) -> None:
        """Do them in any order: none may need another."""
        order = range(len(works)) if self._random is None else self._random.permutation(len(works))
        for number in order:
            works[number]()

    def zeros(self, count: int, dtype: Any) -> Any:
        array = self.empty(count, dtype)
        self._stream.put(lambda: array.fill(0))
        return array

    def empty(self, count: int, dtype: Any) -> Any:
        self.memory -= count * np.dtype(dtype).itemsize
        if self.memory < 0:
            raise device_error("out_of_memory", "no room")
        array = super().zeros(count, dtype)
        self._pool.append(array)
        array.view(np.uint8)[:] = 0xEE  # whatever was there
        return array.view(DeviceMemory)

    def pinned(self, count: int, dtype: Any) -> NDArray[Any]:
        memory = np.full(count, 0xEE, dtype)
        self._pinned.append(memory)
        return memory[:]

    def is_pinned(self, array: NDArray[Any]) -> bool:
        return any(np.may_share_memory(array, pinned) for pinned in self._pinned)

    def asarray(self, values: NDArray[Any]) -> Any:
        array = self.empty(values.size, values.dtype)
        self.upload(array, values.reshape(-1))
        return array

    def to_host(self, array: Any) -> NDArray[Any]:  # type: ignore[override]
        self._stream.run(self._stream.taken)
        return np.array(array)

    def upload(self, target: Any, values: NDArray[Any]) -> None:
        self.uploaded += values.nbytes
        kept = values if self.is_pinned(values) else values.copy()
        self._copy(target, kept)

    def download(self, target: NDArray[Any], array: Any) -> None:
        if array.size:
            assert self.is_pinned(target), "such a copy would wait"
            self._copy(target[: array.size], array)

    def copy(self, target: Any, array: Any) -> None:
        self._copy(target, array)

    def _copy(self, target: Any, source: Any) -> None:
        assert target.size == source.size
        self.put(lambda: np.copyto(target, source, casting="no"))

    @staticmethod
    def is_own(array: object) -> bool:
        return isinstance(array, DeviceMemory)

    @staticmethod
    def adopt(array: Any) -> Any:
        return array

    @staticmethod
    def has_room(array: Any, before: int, after: int) -> bool:
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        first, last = whole.ctypes.data, whole.ctypes.data + whole.nbytes
        begin = array.ctypes.data
        return bool(first + before <= begin and begin + array.nbytes + after <= last)

    def mark(self, again: Mark | None = None) -> Mark:
        if again is None:
            return Mark(self._stream)
        again.__init__(self._stream)  # type: ignore[misc]
        return again

    def wait(self, mark: Mark) -> None:
        self._stream.put(mark.synchronize)

    @staticmethod
    def new_stream() -> Stream:
        return Stream()

    def new_event(self) -> Mark:
        return Mark(self._stream)

    def handle(self, thing: object) -> int:
        return self._calls.handle(thing)

    def driver(self) -> dict[str, int]:
        return self._calls.addresses()

    def current_stream(self) -> Stream:
        return self._stream

    @contextmanager
    def using(self, stream: Stream | None) -> Iterator[None]:
        before = self._stream
        self._current.stream = stream or before
        try:
            yield
        finally:
            self._current.stream = before


def connect(folder: Path, **options: Any) -> Connect:
    """Return what compiles the kernels for a host device."""

    def made(defines: Mapping[str, int]) -> HostDevice:
        return HostDevice(build(folder, defines), **options)

    return cast("Connect", made)
