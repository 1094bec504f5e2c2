"""Settings of the whole process, for commands that run long. A library may not touch these."""

from __future__ import annotations

import contextlib
import ctypes
import os

# Numbers of mallopt(3), and what is set: blocks of some megabytes come and go, and pages that were
# handed back to the system are faulted in anew. A seventh of a job's CPU time went into that.
_TRIM_THRESHOLD, _KEPT_BYTES = -1, 256 << 20
_MMAP_THRESHOLD, _LARGEST_ON_HEAP = -3, 32 << 20


def prepare_process() -> None:
    """Keep freed memory, and numpy from starting threads; to be called before numpy is imported."""
    # It makes one for each core, which spin for a while, and nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(AttributeError, OSError):  # only glibc has it
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
