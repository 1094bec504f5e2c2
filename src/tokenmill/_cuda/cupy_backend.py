"""A device through CuPy: the only file that calls it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokenmill._cuda.driver import driver_calls
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.source import kernel_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import Connect, DeviceBackend, Graph, Mark

OLDEST = {12: "70", 13: "75"}  # compute capability, by the major version of the compiler
_NO_MEMORY, _NO_DEVICE = 2, 100  # cudaErrorMemoryAllocation, cudaErrorNoDevice


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn a device's lack of memory into DeviceError."""
    try:
        yield
    except MemoryError as error:
        raise device_error("out_of_memory", str(error)) from error
    except RuntimeError as error:
        if getattr(error, "status", None) != _NO_MEMORY:
            raise
        raise device_error("out_of_memory", str(error)) from error


def connect_cupy(device: int) -> Connect:
    """Find a device, and return what compiles kernels for it; DeviceError if it cannot be used."""
    cupy = _import_cupy()
    _check_device(cupy, device)
    return lambda defines: cast("DeviceBackend", CupyBackend(cupy, device, defines))


def _import_cupy() -> Any:
    try:
        import cupy  # only needed if a device is asked for
    except ImportError as error:
        raise device_error("no_cupy", str(error)) from error
    return cupy


def count_devices() -> int:
    """Return how many devices there are; DeviceError if CuPy or the driver is missing."""
    return _count(_import_cupy())


def device_facts(number: int) -> dict[str, Any]:
    """Return name, compute capability and memory of a device; DeviceError if it cannot be used."""
    cupy = _import_cupy()
    _check_device(cupy, number)
    properties = cupy.cuda.runtime.getDeviceProperties(number)
    name = properties["name"]
    return {
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "capability": f"{properties['major']}.{properties['minor']}",
        "memory": int(properties["totalGlobalMem"]),
    }


def _count(cupy: Any) -> int:
    runtime = cupy.cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        reason = "no_device" if error.status == _NO_DEVICE else "no_driver"
        raise device_error(reason, str(error)) from error


def _check_device(cupy: Any, device: int) -> None:
    count = _count(cupy)
    if not 0 <= device < count:
        raise device_error("no_device", f"got number {device}, and there are {count}")
    major = _compiler_major(cupy)
    oldest = OLDEST.get(major, OLDEST[max(OLDEST)])
    capability = cupy.cuda.Device(device).compute_capability
    if int(capability) < int(oldest):
        has, wanted = (f"{number[:-1]}.{number[-1]}" for number in (capability, oldest))
        raise device_error("cc_too_old", f"got {has}, and CUDA {major} needs {wanted}")


def _compiler_major(cupy: Any) -> int:
    """Return the major version of NVRTC, which CuPy's wheels do not contain."""
    try:
        return int(cupy.cuda.nvrtc.getVersion()[0])
    except (ImportError, OSError, RuntimeError) as error:
        raise device_error("no_compiler", str(error)) from error


class CupyBackend:
    """Kernels compiled by NVRTC, memory from CuPy's pool, streams and graphs of CuPy."""

    def __init__(self, cupy: Any, device: int, defines: Mapping[str, int]) -> None:
        self._cupy = cupy
        self._device = cupy.cuda.Device(device)
        self.name = f"cuda:{device}"
        self.processors = int(self._device.attributes["MultiProcessorCount"])
        macros = [f"-D{name}={int(value)}" for name, value in sorted(defines.items())]
        with self._device:
            self._module = cupy.RawModule(
                code=kernel_text(), options=("-std=c++17", *macros), backend="nvrtc"
            )
            try:
                self._module.compile()
            except (
                cupy.cuda.compiler.CompileException,
                ImportError,
                OSError,
                RuntimeError,
            ) as error:
                raise device_error("compile_failed", str(error)) from error
        self._kernels: dict[str, Any] = {}
        self._captured = False

    def launch(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        """Run a kernel with two addresses of structs."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._module.get_function(name)
        kernel((blocks,), (threads,), (np.uint64(tables), np.uint64(batch)))

    def capture(self, work: Callable[[], None]) -> Graph:
        """Record the launches of `work` instead of running them."""
        with self._device:
            stream = self._cupy.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                self._captured = True
                try:
                    work()
                finally:
                    self._captured = False
                    graph = stream.end_capture()
        return cast("Graph", graph)

    def together(self, works: Sequence[Callable[[], None]]) -> None:
        """Add branches to a graph; outside of one, streams would cost more than they save."""
        if not self._captured or len(works) <= 1:
            for work in works:
                work()
            return
        start = self.mark()
        ends = []
        for work in works[1:]:
            with self.using(self.new_stream()):
                self.wait(start)
                work()
                ends.append(self.mark())
        works[0]()
        for end in ends:
            self.wait(end)

    def zeros(self, count: int, dtype: Any) -> Any:
        """Return an array of zeros."""
        with self._device, memory_errors():
            return self._cupy.zeros(count, dtype)

    def empty(self, count: int, dtype: Any) -> Any:
        """Return an array whose content is not defined."""
        with self._device, memory_errors():
            return self._cupy.empty(count, dtype)

    def pinned(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return page-locked memory of the host."""
        kind = np.dtype(dtype)
        with self._device, memory_errors():
            memory = self._cupy.cuda.alloc_pinned_memory(max(count, 1) * kind.itemsize)
        return np.frombuffer(memory, kind, count)

    def asarray(self, values: NDArray[Any]) -> Any:
        """Copy an array to the device."""
        array = self.empty(values.size, values.dtype)
        self.upload(array, values)
        return array

    def to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array from the device and wait for it."""
        with self._device:
            return cast("NDArray[Any]", array.get())

    def upload(self, target: Any, values: NDArray[Any]) -> None:
        """Copy from the host, in the order of the stream."""
        if values.size:
            flat = np.ascontiguousarray(values)
            self._move(target.data.ptr, flat.ctypes.data, flat.nbytes, "memcpyHostToDevice")

    def download(self, target: NDArray[Any], array: Any) -> None:
        """Copy to the host, in the order of the stream."""
        if array.size:
            self._move(target.ctypes.data, array.data.ptr, array.nbytes, "memcpyDeviceToHost")

    def copy(self, target: Any, array: Any) -> None:
        """Copy within the device, in the order of the stream."""
        if array.size:
            self._move(target.data.ptr, array.data.ptr, array.nbytes, "memcpyDeviceToDevice")

    def _move(self, target: int, source: int, size: int, kind: str) -> None:
        runtime = self._cupy.cuda.runtime
        with self._device:
            stream = self._cupy.cuda.get_current_stream()
            runtime.memcpyAsync(target, source, size, getattr(runtime, kind), stream.ptr)

    @staticmethod
    def address(array: Any) -> int:
        """Return the address of an array."""
        return int(array.data.ptr)

    def is_own(self, array: object) -> bool:
        """Check whether an array is on a CUDA device."""
        return hasattr(array, "__cuda_array_interface__")

    def adopt(self, array: Any) -> Any:
        """Return a CuPy array over the memory of another library's array."""
        with self._device:
            return self._cupy.asarray(array).reshape(-1)

    @staticmethod
    def has_room(array: Any, before: int, after: int) -> bool:
        """Check whether that many bytes before and after an array belong to its allocation."""
        begin, memory = int(array.data.ptr), array.data.mem
        first, last = int(memory.ptr), int(memory.ptr) + int(memory.size)
        return first + before <= begin and begin + int(array.nbytes) + after <= last

    def is_pinned(self, array: NDArray[Any]) -> bool:
        """Ask the driver whether host memory is page-locked."""
        runtime = self._cupy.cuda.runtime
        with self._device:
            found = runtime.pointerGetAttributes(array.ctypes.data)
        return bool(found.type == runtime.memoryTypeHost)

    def mark(self, again: Any = None) -> Mark:
        """Record an event on the current stream, a new one or one that is no longer waited for."""
        with self._device:
            event = again or self._cupy.cuda.Event(disable_timing=True)
            event.record(self._cupy.cuda.get_current_stream())
        return cast("Mark", event)

    def wait(self, mark: Any) -> None:
        """Let the current stream wait for an event."""
        with self._device:
            self._cupy.cuda.get_current_stream().wait_event(mark)

    def new_stream(self) -> Any:
        """Make a stream that does not wait for the default one."""
        with self._device:
            return self._cupy.cuda.Stream(non_blocking=True)

    def new_event(self) -> Any:
        """Make an event; a thread that waits for it sleeps."""
        with self._device:
            return self._cupy.cuda.Event(block=True, disable_timing=True)

    @staticmethod
    def handle(thing: Any) -> int:
        """Return the driver's handle of a stream, an event or a graph."""
        return int(thing.graphExec if hasattr(thing, "graphExec") else thing.ptr)

    def driver(self) -> dict[str, int]:
        """Return the addresses of the driver's functions, and the context of the device."""
        with self._device:
            return driver_calls()

    def current_stream(self) -> Any:
        """Return the current stream of this thread."""
        with self._device:
            return self._cupy.cuda.get_current_stream()

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        """Make a stream the current one, and the device too."""
        device: AbstractContextManager[Any] = self._device  # entered by itself: a call less
        return device if stream is None else self._using(stream)

    @contextmanager
    def _using(self, stream: Any) -> Iterator[None]:
        with self._device, stream:
            yield
