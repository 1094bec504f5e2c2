"""Fast tokenizers of `transformers` that run on tokenmill.

A tokenizer keeps its class and everything that the class does (chat templates, special tokens,
files). Only its backend becomes a `tokenmill.compat.hf.Tokenizer`, and calls for ids, masks and
tensors go straight from the engine into arrays.
"""

# ruff: noqa: SLF001 -- private members of the library's objects are what this module replaces
from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import AutoTokenizer as PeerAutoTokenizer
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from tokenmill._errors import ReferencePathWarning
from tokenmill.compat.hf._fast_call import fast_call, set_options
from tokenmill.compat.hf._tokenizer import Tokenizer, library_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

# A class that overrides one of these keeps its own method.
_ENCODING = ("_encode_plus", "_convert_encoding", "set_truncation_and_padding")
_DECODING = ("_decode", "decode", "batch_decode")


class FastTokenizer:
    """The base of every accelerated tokenizer, in addition to its own class."""

    _tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The library creates objects of this class too, e.g. in `train_new_from_iterator`.
        super().__init__(*args, **kwargs)
        if not isinstance(self._tokenizer, Tokenizer):
            self._tokenizer = Tokenizer.wrap(self._tokenizer)

    @classmethod
    def from_pretrained(cls, name: Any, *args: Any, **kwargs: Any) -> Any:
        """Load a tokenizer as `transformers` does, and accelerate it."""
        base = _plain_class(cls)
        loader: Any = PeerAutoTokenizer if base is FastTokenizer else base
        return accelerate_in_place(loader.from_pretrained(name, *args, **kwargs))

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        kind = type(self)
        return _blank, (_plain_class(kind), issubclass(kind, _Decodes)), self.__dict__


class _Encodes(FastTokenizer):
    """Calls are answered from arrays."""

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if not args:
            result = fast_call(self, self._tokenizer, text, text_pair, kwargs)
            if result is not None:
                return result
        return super()._encode_plus(text, text_pair, *args, **kwargs)  # type: ignore[misc]

    def tokenize(
        self,
        text: Any,
        pair: Any = None,
        add_special_tokens: bool = False,
        **kwargs: Any,
    ) -> Any:
        if kwargs or not isinstance(text, str) or not isinstance(pair, (str, type(None))):
            return super().tokenize(text, pair, add_special_tokens, **kwargs)  # type: ignore[misc]
        set_options(self, {})
        self._tokenizer.encode_special_tokens = self.split_special_tokens  # type: ignore[attr-defined]
        encoding = self._tokenizer.encode(text, pair or None, False, add_special_tokens)
        return encoding.tokens


class _Decodes(FastTokenizer):
    """Rows of ids are decoded together."""

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        clean_up = kwargs.get("clean_up_tokenization_spaces")
        clean_up = self.clean_up_tokenization_spaces if clean_up is None else clean_up  # type: ignore[attr-defined]
        if clean_up or kwargs.keys() - {"clean_up_tokenization_spaces"}:
            return super().decode(token_ids, skip_special_tokens, **kwargs)  # type: ignore[misc]
        is_batch, rows = _rows(token_ids)
        if rows is None:
            return super().decode(token_ids, skip_special_tokens, **kwargs)  # type: ignore[misc]
        texts = self._tokenizer.decode_batch(rows, skip_special_tokens)
        return texts if is_batch else texts[0]


def accelerate(tokenizer: Any) -> Any:
    """Return a copy of a fast tokenizer of `transformers` that runs on tokenmill.

    If the engine cannot run it natively, the copy is unchanged.
    """
    made = copy.deepcopy(tokenizer)
    # A deep copy of the library's object loses the methods that a class set on the object itself.
    vars(getattr(made, "_tokenizer", made)).update(vars(getattr(tokenizer, "_tokenizer", made)))
    return accelerate_in_place(made)


def accelerate_in_place(tokenizer: Any, *, lazily: bool = False) -> Any:
    """Accelerate a tokenizer that nobody else holds; `lazily` builds the engine when needed."""
    kind: Any = type(tokenizer)
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer if tokenizer._tokenizer.is_native else _slowed_down(tokenizer)
    if not isinstance(tokenizer, TokenizersBackend):
        return tokenizer
    peer = tokenizer._tokenizer
    put_on = vars(peer).keys()
    if put_on - {"decode"} or not _same(kind, _ENCODING, TokenizersBackend):
        warnings.warn(
            f"runs through 'transformers', exact but at its speed: {kind.__name__} has its own "
            "way to encode",
            ReferencePathWarning,
            stacklevel=3,
        )
        return tokenizer
    backend = Tokenizer.wrap(peer)
    if lazily or backend.is_native:
        tokenizer._tokenizer = backend
        decodes = not put_on and _same(kind, _DECODING, TokenizersBackend)
        tokenizer.__class__ = _accelerated_class(kind, decodes)
    return tokenizer


def _slowed_down(tokenizer: Any) -> Any:
    """Undo the acceleration of a tokenizer that the engine turned out unable to run."""
    tokenizer._tokenizer = library_tokenizer(tokenizer._tokenizer)
    tokenizer.__class__ = _plain_class(type(tokenizer))
    return tokenizer


class AutoTokenizer(PeerAutoTokenizer):  # type: ignore[misc]
    """`transformers.AutoTokenizer`; its tokenizers run on tokenmill if the engine can run them."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load a tokenizer as `transformers` does, and accelerate it."""
        return accelerate_in_place(PeerAutoTokenizer.from_pretrained(*args, **kwargs))


@cache
def _accelerated_class(kind: Any, decodes: bool) -> Any:
    """Derive a class with the same name: `transformers` writes it into files."""
    mixins: list[type] = [_Encodes, _Decodes] if decodes else [_Encodes]
    members = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (*mixins, kind), {**members, "__doc__": kind.__doc__})


def _plain_class(kind: type) -> Any:
    """Return the class that an accelerated one was derived from."""
    if not issubclass(kind, TokenizersBackend):
        return FastTokenizer
    return next(base for base in kind.__mro__ if not issubclass(base, FastTokenizer))


def _same(kind: type, names: Iterable[str], base: type) -> bool:
    return all(getattr(kind, name) is getattr(base, name) for name in names)


def _blank(kind: Any, decodes: bool) -> Any:
    made = kind.__new__(kind)
    made.__class__ = _accelerated_class(kind, decodes)
    return made


def _rows(token_ids: Any) -> tuple[bool, Any]:
    """Return whether these are many rows, and the rows of ids; None if they are neither."""
    if hasattr(token_ids, "numpy") and hasattr(token_ids, "detach"):
        token_ids = token_ids.detach().cpu().numpy()
    if isinstance(token_ids, np.ndarray):
        return _array_rows(token_ids)
    if not isinstance(token_ids, (list, tuple)) or not token_ids:
        return False, None
    if isinstance(token_ids[0], int):
        array = np.asarray(token_ids)
        return False, [array] if array.dtype.kind in "iu" and array.ndim == 1 else None
    return True, token_ids if all(isinstance(row, (list, tuple)) for row in token_ids) else None


def _array_rows(ids: Any) -> tuple[bool, Any]:
    is_batch = ids.ndim > 1
    if ids.dtype.kind not in "iu" or not ids.size or ids.ndim > 2:  # noqa: PLR2004
        return is_batch, None
    return is_batch, list(ids) if is_batch else [ids]
