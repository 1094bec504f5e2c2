"""The kernels as a host library: compiled by the C++ compiler, launched block after block."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import shared_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KERNELS = ROOT / "src" / "tokenmill" / "_cuda" / "kernels"


def build(
    folder: Path, defines: Mapping[str, object], sanitize: str = "", part: str = "kernels.cu"
) -> Path:
    """Compile the kernels, or a part of them, with these macros; the same give the same file."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    assert compiler, "no C++ compiler"
    name = "_".join(f"{key}{value}" for key, value in sorted(defines.items())) + sanitize + part
    library = folder / f"kernels_{hashlib.sha256(name.encode()).hexdigest()[:16]}.so"
    if library.exists():
        return library
    source = folder / f"{library.stem}.cpp"
    source.write_text(
        f'#define TM_HOST 1\n#include "platform.h"\n{shared_text()}#include "{part}"\n'
    )
    flags = [
        "-std=c++17",
        "-O1",  # compiling takes longer than running
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    flags += ["-fno-strict-aliasing"]  # words of a buffer are read four at a time, as on a device
    flags += [f"-fsanitize={sanitize}", "-fno-sanitize-recover=all"] if sanitize else []
    flags += [f"-D{key}={value}" for key, value in defines.items()]
    flags += [f"-I{path}" for path in (HERE, KERNELS, ROOT / "core")]
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)  # noqa: S603
    return library


class ShimBackend:
    """What the engine asks of a device, done by numpy and the host library."""

    def __init__(self, library: Path, shuffle: int | None = None) -> None:
        self._library = ctypes.CDLL(str(library))
        self._random = None if shuffle is None else np.random.default_rng(shuffle)

    def launch(self, name: str, blocks: int, threads: int, tables: int, batch: int) -> None:
        """Run a kernel over all its blocks, in random order if the backend shuffles."""
        del threads  # known to the kernel
        kernel = getattr(self._library, name)
        kernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        kernel.restype = None
        order = range(blocks) if self._random is None else self._random.permutation(blocks)
        for block in order:
            self._library.shim_set_block(int(block), blocks)
            kernel(tables, batch)

    def zeros(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return an array that begins at a multiple of 256 bytes, as on a device."""
        size = np.dtype(dtype).itemsize * count
        memory = np.zeros(size + 256, dtype=np.uint8)
        shift = -memory.ctypes.data % 256
        return memory[shift : shift + size].view(dtype)

    def asarray(self, values: NDArray[Any]) -> NDArray[Any]:
        array = self.zeros(values.size, values.dtype)
        array[:] = values.reshape(-1)
        return array

    @staticmethod
    def address(array: NDArray[Any]) -> int:
        return int(array.ctypes.data)

    @staticmethod
    def to_host(array: NDArray[Any]) -> NDArray[Any]:
        host: NDArray[Any] = array.copy()
        return host
