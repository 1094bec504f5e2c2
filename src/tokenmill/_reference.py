"""The path through a reference library: the methods of `_core.Model`, run by others.

For tokenizers that the native engine cannot run exactly: same arguments, same results, same
errors, at the library's speed.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokenmill._errors import (
    DtypeError,
    MissingDependency,
    OutputTooSmall,
    ReferencePathWarning,
    SpecialTokenInText,
    UnknownId,
    UnsupportedTokenizer,
)
from tokenmill._reference_spans import Spans, covered, in_bytes
from tokenmill._reference_texts import list_of, str_of, text_of
from tokenmill._spec import NO_RANK, BpeModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._spec import TokenizerSpec

_MAX_U16 = 0xFFFF
_TEXT_MODE, _RAISE_MODE = 1, 2


class Library(Protocol):
    """What is needed of a reference library, with plain Python types."""

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        """Encode; `as_text` leaves the text of special tokens as text."""

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        """Encode; also say which characters of its text each id stands for."""

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        """Decode ids that all are in the vocabulary, without the special ones if asked."""

    def id_to_token(self, token_id: int) -> str | None:
        """Return the vocabulary's own spelling."""

    def token_to_id(self, token: str) -> int | None:
        """Undo `id_to_token`."""


class ReferenceModel:
    """A look-alike of `_core.Model` over a reference library."""

    target = ""  # no SIMD body runs

    def __init__(self, spec: TokenizerSpec) -> None:
        self.vocab_size = spec.vocab_size
        self.max_id = spec.vocab_size - 1
        self._special = spec.special_tokens
        self.library = _LIBRARIES[spec.reference](spec)
        self._decode_bytes: tuple[bytes | None, ...] | None = None
        own_decoder = spec.texts or spec.unsupported_decode or spec.sentencepiece_decoder
        if isinstance(spec.model, BpeModel) and not own_decoder:
            self._decode_bytes = spec.model.decode_bytes

    def encode(
        self, text: object, add_special_tokens: bool, special_mode: int, errors: int
    ) -> NDArray[np.uint32]:
        """Encode one text."""
        plain = self._checked(text_of(text, None), None, special_mode, errors)
        rows = self.library.encode_all([plain], add_special_tokens, special_mode == _TEXT_MODE)
        return np.array(rows[0], dtype=np.uint32)

    def encode_batch(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        threads: int,
        bits: int,
        add_special_tokens: bool,
        special_mode: int,
        errors: int,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Encode many texts into one flat array and offsets; the library has its own threads."""
        return _flat(self._rows(texts, add_special_tokens, special_mode, errors), bits)

    def encode_spans(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        threads: int,
        bits: int,
        add_special_tokens: bool,
        special_mode: int,
        errors: int,
        in_characters: bool,
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint32]]:
        """Encode many texts; the third array has two numbers for every id."""
        plain = self._plain_texts(texts, special_mode, errors)
        rows, spans = self.library.encode_spans(
            plain, add_special_tokens, special_mode == _TEXT_MODE
        )
        if not in_characters:
            spans = [in_bytes(text, row) for text, row in zip(plain, spans, strict=True)]
        ids, offsets = _flat(rows, bits)
        flat = np.array([place for row in spans for place in row], dtype=np.uint32)
        return ids, offsets, flat.reshape(-1)

    def encode_into(  # noqa: PLR0917 -- the core's signature
        self,
        texts: Iterable[object],
        out: NDArray[Any],
        threads: int,
        add_special_tokens: bool,
        special_mode: int,
        errors: int,
    ) -> NDArray[np.int64]:
        """Encode many texts into the caller's array."""
        ids, offsets = self.encode_batch(
            texts, threads, out.itemsize * 8, add_special_tokens, special_mode, errors
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
        threads: int,
        add_special_tokens: bool,
        special_mode: int,
        errors: int,
        limit: int,
    ) -> NDArray[np.int64]:
        """Count the ids of each text; the library cannot stop early at `limit`."""
        rows = self._rows(texts, add_special_tokens, special_mode, errors)
        return np.array([len(row) for row in rows], dtype=np.int64)

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

    def memory(self) -> dict[str, int]:
        """Return nothing: the library does not tell what it uses."""
        return {}

    def _rows(
        self, texts: Iterable[object], add_special: bool, special_mode: int, errors: int
    ) -> list[list[int]]:
        plain = self._plain_texts(texts, special_mode, errors)
        return self.library.encode_all(plain, add_special, special_mode == _TEXT_MODE)

    def _plain_texts(self, texts: Iterable[object], special_mode: int, errors: int) -> list[str]:
        # As in the core: what is no text is found before any text is read.
        raw = [text_of(text, n) for n, text in enumerate(list_of(texts))]
        return [self._checked(text, n, special_mode, errors) for n, text in enumerate(raw)]

    def _checked(
        self, text: str | bytes, document: int | None, special_mode: int, errors: int
    ) -> str:
        plain = str_of(text, document, errors)
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
                hint="special_in_text='text' keeps it as text, 'encode' makes it the token",
            )


def warn(spec: TokenizerSpec, reasons: Sequence[str], stacklevel: int) -> None:
    """Say once, when a tokenizer is loaded, that it runs through its library and why."""
    warnings.warn(
        f"{spec.name}: runs through the library {spec.reference!r}, exact but at its speed: "
        + "; ".join(reasons),
        ReferencePathWarning,
        stacklevel=stacklevel + 1,
    )


class _Tokenizers:
    """Hugging Face `tokenizers`."""

    def __init__(self, spec: TokenizerSpec) -> None:
        if spec.source is None:
            raise UnsupportedTokenizer(
                "needs its tokenizer.json to run through 'tokenizers'", where=spec.name
            )
        library = _import("tokenizers", spec)
        text = spec.source.decode()
        self._make: Callable[[], Any] = lambda: _quiet(library.Tokenizer.from_str(text))
        self._plain = self._make()

    @cached_property
    def _as_text(self) -> Any:  # noqa: ANN401 -- a class of the library
        """A second tokenizer: the switch is a state of the library's object."""
        tokenizer = self._make()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        tokenizer = self._as_text if as_text else self._plain
        return [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=add_special)]

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        tokenizer = self._as_text if as_text else self._plain
        encodings = tokenizer.encode_batch(texts, add_special_tokens=add_special)
        return [e.ids for e in encodings], [e.offsets for e in encodings]

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        text: str = self._plain.decode(ids, skip_special_tokens=skip_special)
        return text.encode()

    def id_to_token(self, token_id: int) -> str | None:
        token: str | None = self._plain.id_to_token(token_id)
        return token

    def token_to_id(self, token: str) -> int | None:
        token_id: int | None = self._plain.token_to_id(token)
        return token_id


class _Tiktoken:
    """OpenAI `tiktoken`, whose ids are the ranks; they are mapped to the spec's ids."""

    def __init__(self, spec: TokenizerSpec) -> None:
        model = spec.model
        if not isinstance(model, BpeModel) or model.ranks is None or len(spec.split) != 1:
            raise UnsupportedTokenizer("not a tokenizer that 'tiktoken' can run", where=spec.name)
        ranks = model.ranks.tolist()
        ranked = {t: ranks[i] for i, t in enumerate(model.tokens) if t and ranks[i] != NO_RANK}
        free = max(ranked.values(), default=-1) + 1
        special = {token: free + n for n, token in enumerate(spec.special_tokens)}
        self._ids = {rank: i for i, rank in enumerate(ranks) if rank != NO_RANK}
        self._ids |= {special[token]: i for token, i in spec.special_tokens.items()}
        self._ranks = {i: rank for rank, i in self._ids.items()}
        self._around = list(spec.prefix_ids), list(spec.suffix_ids)
        self._special_ids = frozenset(spec.special_tokens.values())
        self._encoding = _import("tiktoken", spec).Encoding(
            name=spec.name,
            pat_str=spec.split[0].pattern,
            mergeable_ranks=ranked,
            special_tokens=special,
        )

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        before, after = self._around if add_special else ([], [])
        allowed: Any = set() if as_text else "all"
        rows = [
            self._encoding.encode(text, allowed_special=allowed, disallowed_special=())
            for text in texts
        ]
        return [[*before, *(self._ids[rank] for rank in row), *after] for row in rows]

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        rows = self.encode_all(texts, add_special, as_text)
        before, after = map(len, self._around if add_special else ([], []))
        spans = [
            [
                *[(0, 0)] * before,
                *covered(text, [self.decode([i]) for i in row[before : len(row) - after]]),
                *[(0, 0)] * after,
            ]
            for text, row in zip(texts, rows, strict=True)
        ]
        return rows, spans

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        if skip_special:
            ids = [token_id for token_id in ids if token_id not in self._special_ids]
        try:
            data: bytes = self._encoding.decode_bytes([self._ranks[i] for i in ids])
        except KeyError as error:
            raise UnknownId("no token has this id", id=error.args[0]) from error
        return data

    def id_to_token(self, token_id: int) -> str | None:
        return self.decode([token_id]).decode(errors="replace")

    def token_to_id(self, token: str) -> int | None:
        try:
            return self._ids[self._encoding.encode_single_token(token)]
        except KeyError:
            return None


class _SentencePiece:
    """`sentencepiece`; control pieces are no text to it, and it puts nothing around a text."""

    def __init__(self, spec: TokenizerSpec) -> None:
        library = _import("sentencepiece", spec)
        try:
            self._processor = library.SentencePieceProcessor(model_proto=spec.source)
        except (RuntimeError, ValueError) as error:
            raise UnsupportedTokenizer(f"cannot be run: {error}", where=spec.name) from error

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        return [self._processor.encode(text) for text in texts]

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        found = [self._processor.encode(text, out_type="immutable_proto").pieces for text in texts]
        rows = [[piece.id for piece in pieces] for pieces in found]
        return rows, [[(piece.begin, piece.end) for piece in pieces] for pieces in found]

    def decode(self, ids: list[int]) -> bytes:
        return str(self._processor.decode(ids)).encode()

    def id_to_token(self, token_id: int) -> str | None:
        return str(self._processor.id_to_piece(token_id))

    def token_to_id(self, token: str) -> int | None:
        found: int = self._processor.piece_to_id(token)  # the unknown piece for a stranger
        return found if self.id_to_token(found) == token else None


_LIBRARIES: dict[str, Callable[[TokenizerSpec], Library]] = {
    "tokenizers": _Tokenizers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _SentencePiece,
}


def _import(name: str, spec: TokenizerSpec) -> Any:  # noqa: ANN401 -- a module
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"{spec.name!r} runs through this library, which is not installed",
            name=name,
            hint=f"pip install {name}",
        ) from error


def _quiet(tokenizer: Any) -> Any:  # noqa: ANN401 -- a class of the library
    """Switch off what a spec leaves out: ids must depend on the text alone."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _flat(rows: Sequence[Sequence[int]], bits: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    offsets = _offsets(rows)
    flat = np.fromiter((i for row in rows for i in row), np.uint32, int(offsets[-1]))
    if bits == 16:  # noqa: PLR2004
        if len(flat) and int(flat.max()) > _MAX_U16:
            raise DtypeError(f"id {flat.max()} does not fit uint16", hint="use dtype='uint32'")
        return flat.astype(np.uint16), offsets
    return flat, offsets


def _offsets(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets
