"""patch_transformers: fast tokenizers of `transformers` run on tokenmill."""

from __future__ import annotations

import threading
from functools import wraps
from typing import TYPE_CHECKING, Any

from tokenmill.compat.hf._library import library

if TYPE_CHECKING:
    from types import TracebackType

_lock = threading.Lock()
_MISSING = object()
_originals: dict[str, Any] = {}  # attributes of the class before the patch; empty without it


class Patch:
    """The result of `patch_transformers`. `undo()`, or the end of a `with` block, undoes it."""

    def __init__(self, *, is_first: bool) -> None:
        self._is_first = is_first

    @property
    def active(self) -> bool:
        """Whether `transformers` is patched now."""
        return bool(_originals)

    def undo(self) -> None:
        """Restore `transformers`. Tokenizers that were loaded in the meantime keep working."""
        with _lock:
            if _originals:
                _restore(_target())

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A block inside another one must not end the outer one's patch.
        if self._is_first:
            self.undo()

    def __repr__(self) -> str:
        return f"<Patch of transformers, {'active' if self.active else 'undone'}>"


def patch_transformers() -> Patch:
    """Make `transformers` return tokenizers that run on tokenmill, if that is exact.

    This covers `AutoTokenizer.from_pretrained`, `from_pretrained` of every fast tokenizer and
    `PreTrainedTokenizerFast(...)`. Calling it twice has no further effect.
    """
    with _lock:
        is_first = not _originals
        if is_first:
            _install(_target())
        return Patch(is_first=is_first)


def _target() -> Any:
    library("transformers")
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    return TokenizersBackend


def _install(target: Any) -> None:
    from tokenmill.compat.hf._fast import accelerate_in_place

    from_pretrained, init = target.from_pretrained.__func__, target.__init__
    for name in ("from_pretrained", "__init__"):
        _originals[name] = target.__dict__.get(name, _MISSING)

    @wraps(from_pretrained)
    def load(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return accelerate_in_place(from_pretrained(cls, *args, **kwargs))

    @wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if type(self) is target:  # the constructor of a subclass continues after this
            accelerate_in_place(self, lazily=True)

    target.from_pretrained = classmethod(load)
    target.__init__ = make


def _restore(target: Any) -> None:
    for name, value in _originals.items():
        if value is _MISSING:
            delattr(target, name)
        else:
            setattr(target, name, value)
    _originals.clear()
