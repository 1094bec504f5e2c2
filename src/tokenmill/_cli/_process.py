"""Settings of the whole process, for commands that run long. A library must not touch these."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os

# Numbers of mallopt(3), and their values: blocks of some megabytes come and go, and pages handed
# back to the system must be faulted in again. That took a seventh of a job's CPU time.
_TRIM_THRESHOLD, _KEPT_BYTES = -1, 256 << 20
_MMAP_THRESHOLD, _LARGEST_ON_HEAP = -3, 32 << 20


def prepare_process() -> None:
    """Keep freed memory, and keep numpy from starting threads. Call it before importing numpy.

    Nothing is garbage until `end_start`: a tenth of the time to import was looking for some.
    """
    gc.disable()
    # OpenBLAS starts one per core, which spin for a while, and nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has it
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def end_start() -> None:
    """Look for garbage again, but not among what was imported."""
    gc.freeze()
    gc.enable()
