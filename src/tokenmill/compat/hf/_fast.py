"""Fast tokenizers of `transformers` that run on tokenmill.

A tokenizer stays an object of its own class and keeps all that the class does (chat templates,
special tokens, files); only its backend becomes a `tokenmill.compat.hf.Tokenizer`, and calls that
ask for ids, masks and tensors go straight from the engine into arrays.
"""

# ruff: noqa: SLF001 -- objects of the library have no types here, and private members
# are what has to be taken over
from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import AutoTokenizer as PeerAutoTokenizer
from transformers import BatchEncoding, TensorType
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from tokenmill._errors import ReferencePathWarning
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill.compat.hf._rows import RowAlone, Rows

# Methods that a class may have of its own; then they are left to it.
_ENCODING = ("_encode_plus", "_convert_encoding", "set_truncation_and_padding")
_DECODING = ("_decode", "decode", "batch_decode")
_KEYS = {
    "input_ids": "ids",
    "token_type_ids": "type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_mask",
}


class FastTokenizer:
    """What an accelerated tokenizer is, beside an object of its own class."""

    _tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The library makes new ones of the class of an old one: `train_new_from_iterator` does.
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
    """Calls go into arrays."""

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if not args:
            result = _fast_call(self, text, text_pair, **kwargs)
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
        _set_options(self, {})
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


class LazyBatchEncoding(BatchEncoding):  # type: ignore[misc]
    """A BatchEncoding whose encodings are made when they are asked for.

    Its own methods ask encodings that tokenmill answers; who asks for one gets the library's.
    """

    _made: Any = None
    _make: Any = None

    @property
    def encodings(self) -> Any:
        """The library's encodings of all rows."""
        return [encoding._real() for encoding in self._encodings]

    def __getitem__(self, item: Any) -> Any:
        return self.data[item] if isinstance(item, str) else self.encodings[item]

    @property
    def _encodings(self) -> Any:
        if self._made is None and self._make is not None:
            self.__dict__["_made"] = self._make()
        return self._made

    @_encodings.setter
    def _encodings(self, value: Any) -> None:
        self.__dict__["_made"] = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_batch, (self.data, self.encodings)


def accelerate(tokenizer: Any) -> Any:
    """Return a copy of a fast tokenizer of `transformers` that runs on tokenmill.

    One that the engine has no native form for comes back as it is.
    """
    made = copy.deepcopy(tokenizer)
    # A copy of the library's object lacks the methods that a class put on the object itself.
    vars(getattr(made, "_tokenizer", made)).update(vars(getattr(tokenizer, "_tokenizer", made)))
    return accelerate_in_place(made)


def accelerate_in_place(tokenizer: Any, *, lazily: bool = False) -> Any:
    """Accelerate a tokenizer that nobody else holds; `lazily` leaves the engine for later."""
    kind: Any = type(tokenizer)
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer if tokenizer._tokenizer.is_native else _slowed_down(tokenizer)
    if not isinstance(tokenizer, TokenizersBackend):
        return tokenizer
    peer = tokenizer._tokenizer
    put_on = vars(peer).keys()
    if put_on - {"decode"} or not _same(kind, _ENCODING, TokenizersBackend):
        warnings.warn(
            f"runs through 'transformers', exact but at its speed: {kind.__name__} encodes in a "
            "way of its own",
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
    """Undo the acceleration of a tokenizer that the engine turned out to have no form for."""
    tokenizer._tokenizer = tokenizer._tokenizer._backend.synced_peer()
    tokenizer.__class__ = _plain_class(type(tokenizer))
    return tokenizer


class AutoTokenizer(PeerAutoTokenizer):  # type: ignore[misc]
    """`transformers.AutoTokenizer`, whose tokenizers run on tokenmill where they can."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load a tokenizer as `transformers` does, and accelerate it."""
        return accelerate_in_place(PeerAutoTokenizer.from_pretrained(*args, **kwargs))


@cache
def _accelerated_class(kind: Any, decodes: bool) -> Any:
    """Derive a class; its name stays, for it is written into files."""
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


def _plain_batch(data: dict[str, Any], encodings: Any) -> BatchEncoding:
    return BatchEncoding(data, encodings)


def _rows(token_ids: Any) -> tuple[bool, Any]:
    """Return whether they are many rows, and the rows of ids; None if it is neither."""
    if hasattr(token_ids, "numpy") and hasattr(token_ids, "detach"):
        token_ids = token_ids.detach().cpu().numpy()
    if isinstance(token_ids, np.ndarray):
        plain = token_ids.dtype.kind in "iu" and token_ids.size and token_ids.ndim in (1, 2)
        rows = list(token_ids) if token_ids.ndim > 1 else [token_ids]
        return token_ids.ndim > 1, rows if plain else None
    if not isinstance(token_ids, (list, tuple)) or not token_ids:
        return False, None
    if isinstance(token_ids[0], int):
        array = np.asarray(token_ids)
        return False, [array] if array.dtype.kind in "iu" and array.ndim == 1 else None
    return True, token_ids if all(isinstance(row, (list, tuple)) for row in token_ids) else None


class _Wanted:
    """The arguments of one call, as `_encode_plus` has them."""

    def __init__(self, tokenizer: Any, options: dict[str, Any]) -> None:
        get, inputs = options.get, tokenizer.model_input_names
        types, attention = get("return_token_type_ids"), get("return_attention_mask")
        self.keys = ["input_ids"]
        self.keys += ["token_type_ids"] * bool(
            "token_type_ids" in inputs if types is None else types
        )
        self.keys += ["attention_mask"] * bool(
            "attention_mask" in inputs if attention is None else attention
        )
        self.keys += ["special_tokens_mask"] * bool(get("return_special_tokens_mask"))
        self.offsets = bool(get("return_offsets_mapping"))
        self.length = bool(get("return_length"))
        self.overflow = bool(get("return_overflowing_tokens"))
        self.tensors = get("return_tensors")
        self.add_special = get("add_special_tokens", True)
        self.words = bool(get("is_split_into_words"))
        split = get("split_special_tokens")
        self.as_text = tokenizer.split_special_tokens if split is None else split


def _fast_call(tokenizer: Any, text: Any, pair: Any, **options: Any) -> Any:
    """Answer a call by arrays; None leaves it, and all errors, to `transformers`."""
    wanted = _Wanted(tokenizer, options)
    batched, inputs = _inputs(text, pair, words=wanted.words)
    plain = isinstance(wanted.add_special, bool) and isinstance(wanted.as_text, bool)
    if inputs is None or not plain:
        return None
    _set_options(tokenizer, options)
    backend = tokenizer._tokenizer
    backend.encode_special_tokens = wanted.as_text
    call = backend._call(inputs, wanted.words, wanted.add_special)
    answer = None
    if wanted.offsets:
        answer = backend._backend.answer(call, "spans", overflow=wanted.overflow)
    placed = answer is not None
    if answer is None:
        answer = backend._backend.answer(call, overflow=wanted.overflow)
    if answer is None:
        return None
    _warn_too_long(tokenizer, answer.rows, options)
    encodings = backend.encodings(answer) if wanted.offsets and not placed else None
    data = _data(answer.rows, wanted, encodings)
    if not batched and wanted.tensors is None and not wanted.overflow:
        data = {k: v[0] if v and isinstance(v[0], list) else v for k, v in data.items()}
    made = LazyBatchEncoding(data, encodings, wanted.tensors, n_sequences=answer.n_sequences)
    made.__dict__["_make"] = backend.encodings_later(answer)
    return made


def _set_options(tokenizer: Any, options: dict[str, Any]) -> None:
    get = options.get
    tokenizer.set_truncation_and_padding(
        padding_strategy=get("padding_strategy", PaddingStrategy.DO_NOT_PAD),
        truncation_strategy=get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE),
        max_length=get("max_length"),
        stride=get("stride", 0),
        pad_to_multiple_of=get("pad_to_multiple_of"),
        padding_side=get("padding_side"),
    )


def _inputs(text: Any, pair: Any, *, words: bool) -> tuple[bool, Any]:
    """Return whether it is a batch, and the inputs as the backend takes them, None if odd."""
    if words:
        batched = (
            isinstance(text, (list, tuple)) and bool(text) and isinstance(text[0], (list, tuple))
        )
    else:
        batched = isinstance(text, (list, tuple))
    if not batched:
        if not isinstance(text, (str, list, tuple)) or (pair and type(pair) is not type(text)):
            return False, None
        return False, [(text, pair)] if pair else [text]
    if not text or (
        pair is not None and (not isinstance(pair, (list, tuple)) or len(pair) != len(text))
    ):
        return True, None
    return True, list(text) if pair is None else list(zip(text, pair, strict=True))


def _warn_too_long(tokenizer: Any, rows: Rows | RowAlone, options: dict[str, Any]) -> None:
    limit, verbose = options.get("max_length"), options.get("verbose", True)
    if limit is not None or not verbose:
        return
    first = next((w for w in rows.widths() if w > tokenizer.model_max_length), None)
    if first is not None:
        tokenizer._eventual_warn_about_too_long_sequence(range(first), None, verbose)


def _data(rows: Rows | RowAlone, wanted: _Wanted, encodings: Any) -> dict[str, Any]:
    data = {key: _field(rows, _KEYS[key], wanted.tensors) for key in wanted.keys}
    if encodings is not None:
        data["offset_mapping"] = [encoding.offsets for encoding in encodings]
    elif wanted.offsets:
        data["offset_mapping"] = _field(rows, "spans", wanted.tensors)
    if wanted.length:
        data["length"] = rows.widths()
    if wanted.overflow:
        data["overflow_to_sample_mapping"] = rows.samples()
    return data


def _field(rows: Rows | RowAlone, name: str, tensors: Any) -> Any:
    matrix = None if tensors is None else rows.matrix(name)
    return rows.lists(name) if matrix is None else _tensor(matrix, tensors)


def _tensor(array: Any, kind: Any) -> Any:
    """Return an array as the tensor that was asked for; others are made of the array later."""
    if TensorType(kind) is TensorType.PYTORCH:
        torch = library("torch")

        return torch.from_numpy(array)
    return array if TensorType(kind) is TensorType.NUMPY else array.tolist()
