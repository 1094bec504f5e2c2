"""One call of a fast tokenizer of `transformers`, answered from the engine's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import BatchEncoding, TensorType
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from tokenmill.compat.hf._encoding import library_encoding
from tokenmill.compat.hf._library import library

if TYPE_CHECKING:
    from tokenmill.compat.hf._backend import NativeAnswer
    from tokenmill.compat.hf._rows import BatchRows, SingleRow
    from tokenmill.compat.hf._tokenizer import Tokenizer

_COLUMNS = {
    "input_ids": "ids",
    "token_type_ids": "type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_mask",
}


class LazyBatchEncoding(BatchEncoding):  # type: ignore[misc]
    """A BatchEncoding that makes its encodings when they are first needed.

    Its own methods use encodings of tokenmill; `encodings` and `[0]` return those of the library.
    """

    _made: Any = None
    _make: Any = None

    @property
    def encodings(self) -> Any:
        """The library's encodings of all rows."""
        return [library_encoding(encoding) for encoding in self._encodings]

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
        return BatchEncoding, (self.data, self.encodings)


class CallOptions:
    """The arguments of one call that change its result, with the names of `_encode_plus`."""

    def __init__(self, tokenizer: Any, options: dict[str, Any]) -> None:
        get = options.get
        asked = {
            "token_type_ids": get("return_token_type_ids"),
            "attention_mask": get("return_attention_mask"),
            "special_tokens_mask": bool(get("return_special_tokens_mask")),
        }
        inputs = tokenizer.model_input_names
        is_wanted = {key: key in inputs if flag is None else flag for key, flag in asked.items()}
        self.keys = ["input_ids", *(key for key, flag in is_wanted.items() if flag)]
        self.offsets = bool(get("return_offsets_mapping"))
        self.length = bool(get("return_length"))
        self.overflow = bool(get("return_overflowing_tokens"))
        self.tensors = get("return_tensors")
        self.add_special = get("add_special_tokens", True)
        self.words = bool(get("is_split_into_words"))
        split = get("split_special_tokens")
        self.as_text = tokenizer.split_special_tokens if split is None else split

    @property
    def is_plain(self) -> bool:
        """Whether the flags are flags; `transformers` reports the others."""
        return isinstance(self.add_special, bool) and isinstance(self.as_text, bool)


def fast_call(
    tokenizer: Any, backend: Tokenizer, text: Any, pair: Any, options: dict[str, Any]
) -> LazyBatchEncoding | None:
    """Answer a call from arrays; None leaves it, and all errors, to `transformers`."""
    wanted = CallOptions(tokenizer, options)
    batched, inputs = _inputs(text, pair, words=wanted.words)
    if inputs is None or not wanted.is_plain:
        return None
    set_options(tokenizer, options)
    backend.encode_special_tokens = wanted.as_text
    call = backend.call_of(inputs, wanted.words, wanted.add_special)
    placed = backend.answer(call, "spans", overflow=wanted.overflow) if wanted.offsets else None
    answer = placed or backend.answer(call, overflow=wanted.overflow)
    if answer is None:
        return None
    _warn_too_long(tokenizer, answer.rows, options)
    encodings = backend.encodings(answer) if wanted.offsets and placed is None else None
    return _batch_of(backend, answer, wanted, encodings, batched=batched)


def set_options(tokenizer: Any, options: dict[str, Any]) -> None:
    """Set the truncation and the padding of a call."""
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
    """Return whether it is a batch, and the inputs for the backend; None if they are unusual."""
    batched = _is_list(text) and (not words or (bool(text) and _is_list(text[0])))
    if not batched:
        is_text = isinstance(text, str) or _is_list(text)
        if not is_text or (pair and type(pair) is not type(text)):
            return False, None
        return False, [(text, pair)] if pair else [text]
    if not text:
        return True, None
    if pair is None:
        return True, list(text)
    if not _is_list(pair) or len(pair) != len(text):
        return True, None
    return True, list(zip(text, pair, strict=True))


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _warn_too_long(tokenizer: Any, rows: BatchRows | SingleRow, options: dict[str, Any]) -> None:
    limit, verbose = options.get("max_length"), options.get("verbose", True)
    if limit is not None or not verbose:
        return
    first = next((w for w in rows.widths() if w > tokenizer.model_max_length), None)
    if first is not None:
        warn = tokenizer._eventual_warn_about_too_long_sequence  # noqa: SLF001 -- warns once
        warn(range(first), None, verbose)


def _batch_of(
    backend: Tokenizer,
    answer: NativeAnswer,
    wanted: CallOptions,
    encodings: Any,
    *,
    batched: bool,
) -> LazyBatchEncoding:
    data = _data(answer.rows, wanted, encodings)
    if not batched and wanted.tensors is None and not wanted.overflow:
        data = {k: v[0] if v and isinstance(v[0], list) else v for k, v in data.items()}
    made = LazyBatchEncoding(data, encodings, wanted.tensors, n_sequences=answer.n_sequences)
    made.__dict__["_make"] = backend.encodings_later(answer)
    return made


def _data(rows: BatchRows | SingleRow, wanted: CallOptions, encodings: Any) -> dict[str, Any]:
    data = {key: _field(rows, _COLUMNS[key], wanted.tensors) for key in wanted.keys}
    if encodings is not None:
        data["offset_mapping"] = [encoding.offsets for encoding in encodings]
    elif wanted.offsets:
        data["offset_mapping"] = _field(rows, "spans", wanted.tensors)
    if wanted.length:
        data["length"] = rows.widths()
    if wanted.overflow:
        data["overflow_to_sample_mapping"] = rows.samples()
    return data


def _field(rows: BatchRows | SingleRow, name: str, tensors: Any) -> Any:
    matrix = None if tensors is None else rows.matrix(name)
    return rows.lists(name) if matrix is None else _tensor(matrix, tensors)


def _tensor(array: Any, kind: Any) -> Any:
    """Return an array as the tensor that was asked for; transformers makes the rarer kinds."""
    if TensorType(kind) is TensorType.PYTORCH:
        return library("torch").from_numpy(array)
    return array if TensorType(kind) is TensorType.NUMPY else array.tolist()
