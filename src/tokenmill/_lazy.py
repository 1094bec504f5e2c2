"""Public names that are imported on first use, so that `import tokenmill` starts at once."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_IMPORT = re.compile(r"^from (\S+) import (\([^)]*\)|.+)$", re.MULTILINE)


def homes_in_stub(stub: str) -> dict[str, str]:
    """Read which module each name comes from: `from a.b import C as C` -> {"C": "a.b"}.

    The stub is also what type checkers read, so each public name is written once.
    """
    with open(stub, encoding="utf-8") as file:  # noqa: PTH123 -- pathlib takes 4 ms to import
        text = file.read()
    return {
        name.split()[0]: home
        for home, names in _IMPORT.findall(text)
        for name in names.strip("()\n").split(",")
        if name.strip()
    }


def lazy_names(
    package: str, homes: Mapping[str, str], before: Callable[[], object] = lambda: None
) -> Callable[[str], object]:
    """Return the `__getattr__` of a module whose names live elsewhere.

    `homes` maps each name to its module. `before` runs ahead of the import, for example to explain
    which package is missing.
    """

    def __getattr__(name: str) -> object:  # noqa: N807 -- the module's own __getattr__
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        before()
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # the next access does not come here
        return value

    return __getattr__
