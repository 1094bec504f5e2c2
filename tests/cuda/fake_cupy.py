"""What CupyBackend calls of CuPy, over numpy and the host library: its calls, not its ways."""

from __future__ import annotations

import ctypes
import re
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from tests.cuda.shim import ShimBackend, build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3


class CudaError(RuntimeError):
    """An error of the runtime, with its number."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cuda error {status}")
        self.status = status


class CompileError(Exception):
    """The device compiler's."""


class Array(np.ndarray[Any, Any]):
    """An array of the device."""

    @property
    def data(self) -> Any:
        whole: Any = self
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        memory = SimpleNamespace(ptr=whole.ctypes.data, size=whole.nbytes)
        return SimpleNamespace(ptr=self.ctypes.data, mem=memory)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}

    def get(self) -> NDArray[Any]:
        return np.array(self)


class Context:
    """Something that can be made the current one."""

    current: ClassVar[Context | None] = None

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Device(Context):
    """The only one."""

    attributes: ClassVar = {"MultiProcessorCount": 2}
    compute_capability = "90"

    def __init__(self, number: int) -> None:
        assert number == 0


class Stream(Context):
    """A stream whose work is done at once; while it is captured, its work is kept instead.

    A stream that waits for an event of a captured one is captured with it.
    """

    ptr = 77
    now: ClassVar[list[Stream]] = []
    recording: list[Any] | None = None

    def __init__(self, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking

    def __enter__(self) -> Stream:
        Stream.now.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.now.pop()

    def begin_capture(self) -> None:
        self.recording = []

    def end_capture(self) -> Any:
        kept, self.recording = self.recording or [], None
        return SimpleNamespace(launch=lambda: [launch() for launch in kept], graphExec=78)

    def wait_event(self, event: Any) -> None:
        assert event.recorded
        if event.recording is not None:
            self.recording = event.recording


def do(work: Callable[[], object]) -> None:
    """Do work of the current stream, or keep it."""
    recording = Stream.now[-1].recording
    if recording is None:
        work()
    else:
        recording.append(work)


Stream.now.append(Stream())


class Event:
    ptr = 79

    def __init__(self, disable_timing: bool, block: bool = False) -> None:
        assert disable_timing
        self.block = block
        self.recorded = False
        self.recording: list[Any] | None = None

    def record(self, stream: Stream) -> None:
        assert stream is Stream.now[-1]
        self.recorded = True
        self.recording = stream.recording

    def synchronize(self) -> None:
        assert self.recorded


def copy_memory(target: int, source: int, size: int, kind: int, stream: int) -> None:
    assert kind in (HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE)
    assert stream == Stream.ptr
    do(lambda: ctypes.memmove(target, source, size))


def aligned_zeros(count: int, dtype: Any) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize * count
    memory = np.zeros(size + 256, np.uint8)
    shift = -memory.ctypes.data % 256
    return memory[shift : shift + size].view(dtype)


def make(folder: Path) -> ModuleType:
    """Return the module; kernels are compiled into the folder."""
    pinned: list[NDArray[np.uint8]] = []

    def alloc_pinned(size: int) -> NDArray[np.uint8]:
        pinned.append(np.empty(size, np.uint8))
        return pinned[-1]

    def attributes_of(address: int) -> Any:
        inside = (0 <= address - p.ctypes.data < max(p.nbytes, 1) for p in pinned)
        return SimpleNamespace(type=int(any(inside)))

    def compiled(code: str, options: tuple[str, ...], backend: str) -> Any:
        assert (options[0], backend) == ("-std=c++17", "nvrtc")
        assert "struct Tables" in code
        pairs = [re.fullmatch(r"-D(\w+)=(\d+)", option) for option in options[1:]]
        shim = ShimBackend(build(folder, {p[1]: int(p[2]) for p in pairs if p}))

        def kernel(name: str) -> Any:
            def call(grid: tuple[int], block: tuple[int], given: tuple[Any, Any]) -> None:
                assert [type(value) for value in given] == [np.uint64, np.uint64]
                do(lambda: shim.launch(name, grid[0], block[0], int(given[0]), int(given[1])))

            return call

        return SimpleNamespace(compile=lambda: None, get_function=kernel)

    def empty(count: int, dtype: Any) -> Any:
        return aligned_zeros(count, dtype).view(Array)

    cupy = ModuleType("cupy")
    runtime = SimpleNamespace(
        CUDARuntimeError=CudaError, getDeviceCount=lambda: 1,
        memcpyAsync=copy_memory, memcpyHostToDevice=HOST_TO_DEVICE, memoryTypeHost=1,
        memcpyDeviceToHost=DEVICE_TO_HOST, memcpyDeviceToDevice=DEVICE_TO_DEVICE,
        pointerGetAttributes=attributes_of,
    )  # fmt: skip
    members = {
        "cuda": SimpleNamespace(
            runtime=runtime, compiler=SimpleNamespace(CompileException=CompileError),
            nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
            Device=Device, Stream=Stream, Event=Event, alloc_pinned_memory=alloc_pinned,
            get_current_stream=lambda: Stream.now[-1],
        ),
        "RawModule": compiled,
        "zeros": empty,
        "empty": empty,
        "asarray": lambda array: array,
    }  # fmt: skip
    for name, value in members.items():
        setattr(cupy, name, value)
    return cupy
