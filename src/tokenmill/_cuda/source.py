"""The kernels as one text, with every included header expanded.

One text, because the disk cache of the device compiler identifies a program by its text: it would
not notice a header that changed under the same #include.
"""

from __future__ import annotations

import re
from pathlib import Path

from tokenmill._cuda.layout import shared_text

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once.*$", re.MULTILINE)


def header_folder() -> Path:
    """Return the folder of the core's freestanding headers: in the package, or in the sources."""
    installed = HERE / "include"
    return installed if installed.is_dir() else HERE.parents[2] / "core"


def kernel_text() -> str:
    """Return the whole program; it needs no include folder."""
    folders = (KERNELS, header_folder())
    seen: set[Path] = set()
    head = _expand(KERNELS / "platform.h", folders, seen)
    return head + shared_text() + _expand(KERNELS / "kernels.cu", folders, seen)


def _expand(path: Path, folders: tuple[Path, ...], seen: set[Path]) -> str:
    """Expand a file once; later includes of it are empty, like with `#pragma once`."""
    if path in seen:
        return ""
    seen.add(path)
    text = _ONCE.sub("", path.read_text(encoding="ascii"))

    def written_out(found: re.Match[str]) -> str:
        for folder in (path.parent, *folders):
            if (folder / found[1]).is_file():
                return _expand((folder / found[1]).resolve(), folders, seen)
        return found[0]  # of the host build; the compiler reports any other

    return _INCLUDE.sub(written_out, text)
