"""tokenmill: raw text in, training-ready tokens out, exact, and at memory speed.

`__init__.pyi` lists the public names. Each is imported on first use, so `import tokenmill` and the
command line start at once; numpy is the only package that using them imports.
"""

from __future__ import annotations

from tokenmill._lazy import homes_in_stub, lazy_names

__version__ = "0.1.0"

_HOMES = homes_in_stub(__file__.rpartition(".")[0] + ".pyi")
__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604 -- the stub holds the names
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
