"""The path through a reference library: the methods of `_core.Model`, run by others.

For tokenizers that the native engine cannot run exactly: same arguments, same results, same
errors, at the library's speed.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tokenmill._errors import (
    DtypeError,
    EncodeError,
    Hint,
    InvalidUtf8,
    Option,
    OutputTooSmall,
    ReferencePathWarning,
    SpecialTokenInText,
    TextTypeError,
    UnknownId,
)
from tokenmill._reference.libraries import LIBRARIES, is_failure
from tokenmill._reference.spans import in_bytes
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._core import CallCounts, Stop
    from tokenmill._spec import TokenizerSpec

_Result = TypeVar("_Result")
_MAX_U16 = 0xFFFF
_TEXT_MODE, _RAISE_MODE = 1, 2
_REPLACE = 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_FAILURE_HINT = "the tokenizer has no ids for this text; describe() explains why it runs there"
_TEXT_HINT = "texts are str, bytes-like, or an Arrow array of strings"


class ReferenceModel:
    """A look-alike of `_core.Model` over a reference library."""

    target = ""  # no SIMD body runs

    def __init__(self, spec: TokenizerSpec) -> None:
        self.vocab_size = spec.vocab_size
        self.max_id = spec.vocab_size - 1
        self._special = spec.special_tokens
        self._reference = spec.reference
        self.library = LIBRARIES[spec.reference](spec)
        self._decode_bytes: tuple[bytes | None, ...] | None = None
        own_decoder = spec.texts or spec.unsupported_decode or spec.sentencepiece_decoder
        if isinstance(spec.model, BpeModel) and not own_decoder:
            self._decode_bytes = spec.model.decode_bytes

    def encode(
        self,
        text: object,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        stop: Stop | None = None,
    ) -> NDArray[np.uint32]:
        """Encode one text; a `stop` is looked at before, the library cannot be interrupted."""
        plain = self._checked(_as_text(text, None), None, special_mode, errors)
        given = add_special_tokens, special_mode == _TEXT_MODE
        _check(stop)
        rows = self._asked(self.library.encode_all, [plain], *given, is_batch=False)
        return np.array(rows[0], dtype=np.uint32)

    def encode_batch(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        threads: int = 1,
        bits: int = 32,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        stop: Stop | None = None,
        *,
        counts: CallCounts | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Encode many texts into one flat array and offsets; the library has its own threads."""
        return _flat(self._rows(texts, add_special_tokens, special_mode, errors, stop), bits)

    def encode_spans(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        threads: int = 1,
        bits: int = 32,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        in_characters: bool = True,
        *,
        stop: Stop | None = None,
        counts: CallCounts | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint32]]:
        """Encode many texts; the third array has two numbers for every id."""
        plain = self._plain_texts(texts, special_mode, errors)
        _check(stop)
        given = add_special_tokens, special_mode == _TEXT_MODE
        rows, spans = self._asked(self.library.encode_spans, plain, *given)
        if not in_characters:
            spans = [in_bytes(text, row) for text, row in zip(plain, spans, strict=True)]
        ids, offsets = _flat(rows, bits)
        flat = np.array([place for row in spans for place in row], dtype=np.uint32)
        return ids, offsets, flat.reshape(-1)

    def encode_into(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        out: NDArray[Any],
        threads: int = 1,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        stop: Stop | None = None,
    ) -> NDArray[np.int64]:
        """Encode many texts into the caller's array."""
        ids, offsets = self.encode_batch(
            texts,
            bits=out.itemsize * 8,
            add_special_tokens=add_special_tokens,
            special_mode=special_mode,
            errors=errors,
            stop=stop,
        )
        if len(ids) > len(out):
            raise OutputTooSmall(
                f"out: {len(ids)} ids, got room for {len(out)}", hint="ask count_batch first"
            )
        out[: len(ids)] = ids
        return offsets

    def count_batch(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        threads: int = 1,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        limit: int = -1,
        stop: Stop | None = None,
    ) -> NDArray[np.int64]:
        """Count the ids of each text; the library cannot stop early at `limit`."""
        rows = self._rows(texts, add_special_tokens, special_mode, errors, stop)
        return np.array([len(row) for row in rows], dtype=np.int64)

    def count(  # noqa: PLR0917 -- the core's signature
        self,
        text: object,
        add_special_tokens: bool = False,
        special_mode: int = 0,
        errors: int = 0,
        limit: int = -1,
        stop: Stop | None = None,
    ) -> int:
        """Count the ids of one text; with a `limit`, `limit + 1` means more."""
        count = len(self.encode(text, add_special_tokens, special_mode, errors, stop))
        return count if limit < 0 else min(count, limit + 1)

    def decode(self, ids: NDArray[np.uint32]) -> bytes:
        """Decode one row of ids."""
        if len(ids) and int(ids.max()) > self.max_id:
            worst = int(ids.max())
            raise UnknownId(f"expected ids below {self.vocab_size}, got {worst}", id=worst)
        if self._decode_bytes is None:
            return self.library.decode(ids.tolist())
        # The library would give text, with U+FFFD for half a character.
        return b"".join([self._decode_bytes[i] or b"" for i in ids.tolist()])

    def decode_batch(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[bytes]:
        """Decode rows of ids."""
        return (
            [self.decode(row) for row in np.split(ids, offsets[1:-1])] if len(offsets) > 1 else []
        )

    def token_bytes(self, token_id: int) -> bytes:
        """Return what the id decodes to on its own."""
        return self.decode(np.array([token_id], dtype=np.uint32))

    def release(self) -> int:
        """Give back what the library holds: nothing that is known."""
        return 0

    def counters(self) -> dict[str, Any]:
        """Return counters without counts: the library has none."""
        from tokenmill._core import CallCounts

        return CallCounts().as_dict()

    def memory(self) -> dict[str, int]:
        """Return nothing: the library does not report what it uses."""
        return {}

    def _rows(
        self,
        texts: Iterable[object],
        add_special: bool,
        special_mode: int,
        errors: int,
        stop: Stop | None,
    ) -> list[list[int]]:
        plain = self._plain_texts(texts, special_mode, errors)
        _check(stop)
        as_text = special_mode == _TEXT_MODE
        return self._asked(self.library.encode_all, plain, add_special, as_text)

    def _asked(
        self,
        encode: Callable[[list[str], bool, bool], _Result],
        texts: list[str],
        add_special: bool,
        as_text: bool,
        *,
        is_batch: bool = True,
    ) -> _Result:
        """Ask the library; what it fails on is an error of ours that names the document."""
        try:
            return encode(texts, add_special, as_text)
        except BaseException as error:
            if not is_failure(error):
                raise
            document = 0 if is_batch else None
            if len(texts) > 1:
                # It does not name the text; the first that fails alone is the one.
                for document, text in enumerate(texts):  # noqa: B007 -- it names the error
                    if not _succeeds(encode, [text], add_special, as_text):
                        break
            problem = f"the library {self._reference!r} cannot encode it: {error}"
            raise EncodeError(problem, document=document, hint=_FAILURE_HINT) from error

    def _plain_texts(self, texts: Iterable[object], special_mode: int, errors: int) -> list[str]:
        # As in the core: a document that is not text is found before any text is read.
        raw = [_as_text(text, n) for n, text in enumerate(_as_list(texts))]
        return [self._checked(text, n, special_mode, errors) for n, text in enumerate(raw)]

    def _checked(
        self, text: str | bytes, document: int | None, special_mode: int, errors: int
    ) -> str:
        plain = _as_str(text, document, errors)
        if special_mode == _RAISE_MODE:
            self._refuse_special(plain, document)
        return plain

    def _refuse_special(self, text: str, document: int | None) -> None:
        found = [(text.find(token), -len(token), token) for token in self._special if token in text]
        if found:
            position, _, token = min(found)
            raise SpecialTokenInText(
                f"the text of the special token {token!r}",
                token=token,
                document=document,
                offset=len(text[:position].encode()),
                hint=Hint(
                    "{} keeps it as text, {} makes it the token",
                    Option("special_in_text", "text"),
                    Option("special_in_text", "encode"),
                ),
            )


def _check(stop: Stop | None) -> None:
    if stop is not None:
        stop.check()


def _succeeds(encode: Callable[..., object], *given: object) -> bool:
    try:
        encode(*given)
    except BaseException as error:
        if not is_failure(error):
            raise
        return False
    return True


def warn(
    spec: TokenizerSpec, reasons: Sequence[str], stacklevel: int, what: str = "runs through"
) -> None:
    """Warn that a tokenizer, or its offsets, come from a library; the caller does so once."""
    warnings.warn(
        f"{spec.name}: {what} the library {spec.reference!r}, exact but at its speed: "
        + "; ".join(reasons),
        ReferencePathWarning,
        stacklevel=stacklevel + 1,
    )


def _as_list(texts: Any) -> Sequence[object]:  # anything the core takes
    """List the texts, out of an Arrow array too."""
    if isinstance(texts, (list, tuple)):
        return texts
    pa = import_module("pyarrow")
    array = pa.chunked_array(texts) if hasattr(texts, "__arrow_c_stream__") else pa.array(texts)
    raw_types = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    if array.type not in {*raw_types, *raw_types.values()}:
        problem = f"expected an Arrow array of strings, got {array.type}"
        raise TextTypeError(problem, hint=_TEXT_HINT)
    # As bytes: pyarrow would decode strings without naming the one that is not UTF-8.
    rows: list[object] = array.cast(raw_types.get(array.type, array.type)).to_pylist()
    if None in rows:
        raise TextTypeError("expected text, got null", document=rows.index(None), hint=_TEXT_HINT)
    return rows


def _as_text(text: object, document: int | None) -> str | bytes:
    """Return a str, or the bytes of whatever has a buffer without gaps."""
    if isinstance(text, (str, bytes)):
        return text
    try:
        buffer = memoryview(text)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        buffer = None
    if buffer is None or not buffer.c_contiguous:
        problem = f"expected str or bytes-like, got {type(text).__name__}"
        raise TextTypeError(problem, document=document, hint=_TEXT_HINT)
    return buffer.tobytes()


def _as_str(text: str | bytes, document: int | None, errors: int) -> str:
    if isinstance(text, str):
        return _checked_str(text, document, errors)
    try:
        return text.decode("utf-8", "replace" if errors == _REPLACE else "strict")
    except UnicodeDecodeError as error:
        raise InvalidUtf8(
            f"not UTF-8, got byte {error.object[error.start]:#04x}",
            document=document,
            offset=error.start,
            hint=Hint("{} puts U+FFFD there", Option("errors", "replace")),
        ) from error


def _checked_str(text: str, document: int | None, errors: int) -> str:
    """Refuse or replace lone surrogates, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if errors == _REPLACE:
            return _SURROGATE.sub("\ufffd", text)
        raise InvalidUtf8(
            "a lone surrogate, which UTF-8 cannot hold",
            document=document,
            offset=len(text[: error.start].encode()),
            hint=Hint("{} puts U+FFFD there", Option("errors", "replace")),
        ) from error
    return text


def _flat(rows: Sequence[Sequence[int]], bits: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    offsets = _offsets(rows)
    flat = np.fromiter((i for row in rows for i in row), np.uint32, int(offsets[-1]))
    if bits == 16:  # noqa: PLR2004
        if len(flat) and int(flat.max()) > _MAX_U16:
            raise DtypeError(
                f"id {flat.max()} does not fit uint16",
                hint=Hint("use {}", Option("dtype", "uint32")),
            )
        return flat.astype(np.uint16), offsets
    return flat, offsets


def _offsets(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets
