"""A program that uses the package as if on another system: what that one lacks is taken away first.

    python other_system.py SYSTEM TOKENIZER TEXTS FOLDER

It packs with an interruption, resumes, verifies, and prints what it found as JSON. The calls of
Windows are answered by those of this system.
"""

from __future__ import annotations

import asyncio  # noqa: F401 -- those of others look at the system; they see the true one
import ctypes
import errno
import fcntl
import json
import os
import shutil
import subprocess  # noqa: F401 -- see above
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute
import pyarrow.parquet  # noqa: F401 -- see above

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULES = {"win32": {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix"}}
_NAMES = {
    "win32": [
        "O_NONBLOCK", "fork", "getloadavg", "getpriority", "getuid", "major", "minor",
        "posix_fadvise", "pread", "preadv", "pwrite", "register_at_fork", "sched_getaffinity",
        "setpriority", "sysconf", "uname", "writev",
    ],
    "darwin": ["posix_fadvise", "preadv", "sched_getaffinity"],
}  # fmt: skip
_ALONE, _AT_ONCE = 2, 1  # LockFileEx
_USED_TWICE = 2


class Missing(MetaPathFinder):
    """Modules that the system does not have."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> None:
        del path, target
        if name in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Kernel:
    """The calls of kernel32, answered by this system; a name is counted when it is called."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.error = 0

    def library(self, name: str, *, use_last_error: bool) -> Any:
        assert name == "kernel32"
        assert use_last_error
        names = ("LockFileEx", "UnlockFileEx", "GetCurrentProcess", "GetProcessAffinityMask",
                 "K32GetProcessMemoryInfo", "GlobalMemoryStatusEx")  # fmt: skip
        return SimpleNamespace(**{name: self._counted(name) for name in names})

    def _counted(self, name: str) -> Any:
        def call(*given: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            return getattr(self, f"_{name}")(*given)

        return call

    def _LockFileEx(self, file: Any, ways: int, *rest: Any) -> int:  # noqa: N802
        assert rest[0] == 0  # reserved
        place = rest[3]._obj
        assert place.OffsetHigh >= 1 << 30, "the bytes of the file could not be read"
        way = fcntl.LOCK_EX if ways & _ALONE else fcntl.LOCK_SH
        try:
            fcntl.flock(file.value, way | (fcntl.LOCK_NB if ways & _AT_ONCE else 0))
        except BlockingIOError:
            self.error = 33  # ERROR_LOCK_VIOLATION
            return 0
        return 1

    def _UnlockFileEx(self, file: Any, *_: Any) -> int:  # noqa: N802
        fcntl.flock(file.value, fcntl.LOCK_UN)
        return 1

    def _GetCurrentProcess(self) -> int:  # noqa: N802
        return -1

    def _GetProcessAffinityMask(self, _process: Any, own: Any, _all: Any) -> int:  # noqa: N802
        own._obj.value = 0b101
        return 1

    def _K32GetProcessMemoryInfo(self, _process: Any, counts: Any, size: int) -> int:  # noqa: N802
        assert size == 72 == ctypes.sizeof(counts._obj)  # of 64-bit Windows
        counts._obj.WorkingSetSize, counts._obj.PeakWorkingSetSize = 50 << 20, 70 << 20
        return 1

    def _GlobalMemoryStatusEx(self, found: Any) -> int:  # noqa: N802
        assert found._obj.dwLength == 64 == ctypes.sizeof(found._obj)
        found._obj.ullTotalPhys = 8 << 30
        return 1


def become(system: str, kernel: Kernel) -> None:
    """Take away what a system lacks, and make its ways ours."""
    missing = _MODULES.get(system, set())
    for name in missing:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Missing(missing))
    for name in _NAMES[system]:
        delattr(os, name)
    sys.platform = system
    if system == "win32":
        windows: Any = ctypes
        windows.WinDLL = kernel.library
        windows.get_last_error = lambda: kernel.error
        windows.WinError = lambda code: OSError(errno.EIO, f"error {code}")
        msvcrt: Any = ModuleType("msvcrt")
        msvcrt.get_osfhandle = lambda file: file
        sys.modules["msvcrt"] = msvcrt
        _files_of_windows()


def _files_of_windows() -> None:
    """Refuse what Windows refuses: folders as files, syncing what is only read, used names."""
    opened, replaced, synced = os.open, os.replace, os.fsync
    tries: dict[str, int] = {}

    def open_file(path: Any, *given: Any, **named: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "is a folder", str(path))
        return opened(path, *given, **named)

    def replace(source: Any, target: Any) -> None:
        tries[str(source)] = tries.get(str(source), 0) + 1
        if tries[str(source)] <= _USED_TWICE:  # somebody is reading it
            raise PermissionError(errno.EACCES, "is used", str(target))
        replaced(source, target)

    def sync(file: int) -> None:
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "is open for reading only")
        synced(file)

    trees: Any = shutil
    trees._use_fd_functions = False  # they open folders
    names: Any = os
    names.open, names.replace, names.fsync = open_file, replace, sync


class Stop(Exception):  # noqa: N818
    """What interrupts a run."""


def run(tokenizer: str, texts: str, folder: Path) -> dict[str, Any]:
    """Load, encode, pack with an interruption, resume, verify; return what was seen."""
    import tokenmill
    from tokenmill._cache_folder import cache_folder
    from tokenmill._calls.threads import allowed_cpus
    from tokenmill._errors import OutputInUse
    from tokenmill._machine.facts import describe_machine
    from tokenmill._mill.output.work import Work
    from tokenmill._mill.run import shards
    from tokenmill._platform.memory import peak_bytes, physical_bytes, resident_bytes
    from tokenmill._platform.processes import pid_space
    from tokenmill._tokenizer import compile_file

    engine = tokenmill.Tokenizer.load(tokenizer)
    compile_file(tokenizer, folder / "compiled.mill")
    again = tokenmill.Tokenizer.load(folder / "compiled.mill")
    ids = again.encode("hello world").tolist()
    output = folder / "packed"

    def pack() -> Any:
        return tokenmill.pack(
            texts, output=output, tokenizer=engine, context_length=64, shard_tokens=2000,
            workers=2, format="bin,npy", progress="none",
        )  # fmt: skip

    changed: Any = shards
    calls, keep = [0], changed.keep_record

    def stopping(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] > 1:
            raise Stop
        return keep(*given, **named)

    changed.keep_record = stopping
    try:
        pack()
    except Stop:
        changed.keep_record = keep
    with Work(output).locked():
        try:
            pack()
        except OutputInUse:
            calls.append(1)
    manifest = pack()
    return {
        "ids": ids,
        "text": again.decode(np.asarray(ids, np.uint32)),
        "interrupted": calls[0],
        "locked": len(calls) == 2,
        "shards": len(manifest.shards),
        "problems": [str(problem) for problem in tokenmill.verify(output).problems],
        "cpus": sorted(allowed_cpus()),
        "cache": cache_folder(),
        "memory": [peak_bytes(), resident_bytes(), physical_bytes()],
        "pid_space": pid_space(),
        "machine": describe_machine().as_json(),
    }


def main() -> None:
    system, tokenizer, texts, folder = sys.argv[1:]
    kernel = Kernel()
    become(system, kernel)
    found = run(tokenizer, texts, Path(folder))
    found["calls"] = kernel.calls
    found["modules"] = sorted(_MODULES.get(system, set()) & set(sys.modules))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
