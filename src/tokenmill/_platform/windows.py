"""The calls of Windows that Python has no names for. Only other files of this room come here."""

from __future__ import annotations

import ctypes
import errno
import sys

assert sys.platform == "win32"  # noqa: S101 -- type checkers then know these names

import msvcrt  # noqa: E402 -- see above

_FAIL_AT_ONCE, _ALONE = 1, 2  # LOCKFILE_FAIL_IMMEDIATELY, LOCKFILE_EXCLUSIVE_LOCK
_HELD_BY_OTHERS = {33, 997}  # ERROR_LOCK_VIOLATION, ERROR_IO_PENDING
# Where the lock is: nobody can use the bytes under a lock, so it is where no file has any.
_PLACE_LOW, _PLACE_HIGH = 0xFFFFFFFE, 0x7FFFFFFF

_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.GetCurrentProcess.restype = ctypes.c_void_p  # or it is cut to 32 bits


class _Place(ctypes.Structure):  # OVERLAPPED
    _fields_ = (
        ("Internal", ctypes.c_size_t),
        ("InternalHigh", ctypes.c_size_t),
        ("Offset", ctypes.c_uint32),
        ("OffsetHigh", ctypes.c_uint32),
        ("hEvent", ctypes.c_void_p),
    )


class _ProcessMemory(ctypes.Structure):  # PROCESS_MEMORY_COUNTERS
    _fields_ = (
        ("cb", ctypes.c_uint32),
        ("PageFaultCount", ctypes.c_uint32),
        ("PeakWorkingSetSize", ctypes.c_size_t),
        ("WorkingSetSize", ctypes.c_size_t),
        ("others", ctypes.c_size_t * 6),
    )


class _MachineMemory(ctypes.Structure):  # MEMORYSTATUSEX
    _fields_ = (
        ("dwLength", ctypes.c_uint32),
        ("dwMemoryLoad", ctypes.c_uint32),
        ("ullTotalPhys", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 6),
    )


def lock(file: int, *, shared: bool, wait: bool) -> None:
    """Lock one byte that no file has; as with flock, what was held is let go first."""
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(file))
    place = _Place(Offset=_PLACE_LOW, OffsetHigh=_PLACE_HIGH)
    _kernel.UnlockFileEx(handle, 0, 1, 0, ctypes.byref(place))  # fails if nothing was held
    ways = (0 if shared else _ALONE) | (0 if wait else _FAIL_AT_ONCE)
    if _kernel.LockFileEx(handle, ways, 0, 1, 0, ctypes.byref(place)):
        return
    error = ctypes.get_last_error()
    if error in _HELD_BY_OTHERS:
        raise BlockingIOError(errno.EAGAIN, "another process has the lock")
    raise ctypes.WinError(error)


def affinity() -> int:
    """Return the CPUs of this process as bits; 0 if the system does not say."""
    own, all_cpus = ctypes.c_size_t(), ctypes.c_size_t()
    process = ctypes.c_void_p(_kernel.GetCurrentProcess())
    if not _kernel.GetProcessAffinityMask(process, ctypes.byref(own), ctypes.byref(all_cpus)):
        return 0
    return own.value


def memory() -> tuple[int, int]:
    """Return the resident bytes of this process, now and at most; zeros if the system fails."""
    counts = _ProcessMemory(cb=ctypes.sizeof(_ProcessMemory))
    process = ctypes.c_void_p(_kernel.GetCurrentProcess())
    if not _kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counts), counts.cb):
        return 0, 0
    return counts.WorkingSetSize, counts.PeakWorkingSetSize


def physical_memory() -> int:
    """Return the bytes of memory of the machine; 0 if the system fails."""
    found = _MachineMemory(dwLength=ctypes.sizeof(_MachineMemory))
    if not _kernel.GlobalMemoryStatusEx(ctypes.byref(found)):
        return 0
    return int(found.ullTotalPhys)
