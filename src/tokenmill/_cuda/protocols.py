"""What `_cuda` asks of a device: kernels to launch, memory, streams.

Arrays are one-dimensional and of the device's own kind: CuPy's on a GPU, numpy's where the tests
run the same kernels as a host library. Everything happens in the order of the current stream; only
`to_host` and `Mark.synchronize` make the host wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    # Macros of the kernels -> a device with those kernels compiled.
    Connect = Callable[[Mapping[str, int]], "DeviceBackend"]


class Mark(Protocol):
    """A point in the work of a stream."""

    def synchronize(self) -> None:
        """Wait until the work before it is done."""


class Graph(Protocol):
    """Launches that were captured once."""

    def launch(self) -> None:
        """Launch all of them on the current stream."""


class KernelBackend(Protocol):
    """Launches kernels, and moves arrays to and from them."""

    def launch(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        """Run a kernel with two addresses of structs."""

    def zeros(self, count: int, dtype: Any) -> Any:
        """Return an array of zeros that starts at a multiple of 256 bytes."""

    def asarray(self, values: NDArray[Any]) -> Any:
        """Copy an array to the device."""

    def to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array from the device and wait for it."""

    def address(self, array: Any) -> int:
        """Return the address of an array."""


class RowBackend(KernelBackend, Protocol):
    """A device that makes rows."""

    def empty(self, count: int, dtype: Any) -> Any:
        """Return an array whose content is not defined, aligned like that of `zeros`."""

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        """Make the device and a stream the current ones; None keeps the current stream."""


class DeviceBackend(RowBackend, Protocol):
    """A device with the kernels of one tokenizer on it."""

    name: str  # e.g. "cuda:0"
    processors: int

    def capture(self, work: Callable[[], None]) -> Graph:
        """Record the launches of `work` instead of running them."""

    def together(self, works: Sequence[Callable[[], None]]) -> None:
        """Run works that need not wait for each other; what follows waits for all of them."""

    def pinned(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return host memory that is copied to and from the device while kernels run."""

    def upload(self, target: Any, values: NDArray[Any]) -> None:
        """Copy from the host; pinned memory must not change until the copy is done."""

    def download(self, target: NDArray[Any], array: Any) -> None:
        """Copy to pinned memory of the host, without waiting for it."""

    def copy(self, target: Any, array: Any) -> None:
        """Copy within the device."""

    def is_own(self, array: object) -> bool:
        """Check whether an array is on this device, or can be used there without a copy."""

    def adopt(self, array: Any) -> Any:
        """Return the backend's own kind of array over memory of this device."""

    def has_room(self, array: Any, before: int, after: int) -> bool:
        """Check whether that many bytes before and after an array can be read."""

    def is_pinned(self, array: NDArray[Any]) -> bool:
        """Check whether host memory is copied while kernels run."""

    def mark(self, again: Any = None) -> Mark:
        """Mark the end of the work that the current stream has so far.

        `again` is a mark that nobody waits for any more: using it again saves a moment.
        """

    def wait(self, mark: Any) -> None:
        """Let the current stream wait for a mark of another one; the host does not wait."""

    def new_stream(self) -> Any:
        """Make a stream."""

    def new_event(self) -> Any:
        """Make a mark that native calls use; who waits for it leaves the processor to others."""

    def handle(self, thing: Any) -> int:
        """Return the driver's handle of a stream, a mark or a graph."""

    def driver(self) -> dict[str, int]:
        """Return the addresses of the driver's functions, and the context of the device."""

    def current_stream(self) -> Any:
        """Return the current stream of this thread."""
