"""The reference libraries, each with the same few methods and plain Python types."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill._errors import (
    MissingDependency,
    TokenmillError,
    UnknownId,
    UnsupportedTokenizer,
)
from tokenmill._reference.longest_match import LongestMatch
from tokenmill._reference.spans import Spans, covered
from tokenmill._spec import NO_RANK, BpeModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._spec import TokenizerSpec


class Library(Protocol):
    """What is needed of a reference library, with plain Python types."""

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        """Encode; `as_text` leaves the text of special tokens as text."""

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        """Encode; also return which characters of the text each id covers."""

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        """Decode ids that all are in the vocabulary, without the special ones if asked."""

    def id_to_token(self, token_id: int) -> str | None:
        """Return the vocabulary's own spelling."""

    def token_to_id(self, token: str) -> int | None:
        """Undo `id_to_token`."""


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
        self._plain = _built(self._make, spec)

    @cached_property
    def _as_text(self) -> Any:  # a class of the library
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
        library = _import("tiktoken", spec)
        self._encoding = _built(
            lambda: library.Encoding(
                name=spec.name,
                pat_str=spec.split[0].pattern,
                mergeable_ranks=ranked,
                special_tokens=special,
            ),
            spec,
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
    """`sentencepiece`; it has no text for control pieces, and puts nothing around a text."""

    def __init__(self, spec: TokenizerSpec) -> None:
        library = _import("sentencepiece", spec)
        self._processor = _built(
            lambda: library.SentencePieceProcessor(model_proto=spec.source), spec
        )

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        return [self._processor.encode(text) for text in texts]

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        found = [self._processor.encode(text, return_type="offset_mapping") for text in texts]
        return [one["ids"] for one in found], [one["offsets"] for one in found]

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        if skip_special:
            ids = [token for token in ids if not self._processor.is_control(token)]
        return str(self._processor.decode(ids)).encode()

    def id_to_token(self, token_id: int) -> str | None:
        return str(self._processor.id_to_piece(token_id))

    def token_to_id(self, token: str) -> int | None:
        found: int = self._processor.piece_to_id(token)  # the unknown piece for a stranger
        return found if self.id_to_token(found) == token else None


LIBRARIES: dict[str, Callable[[TokenizerSpec], Library]] = {
    "tokenizers": _Tokenizers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _SentencePiece,
    "python": LongestMatch,
}


def is_failure(error: BaseException) -> bool:
    """Tell whether this is an error of a library; a Rust panic is not an `Exception`."""
    is_panic = type(error).__name__ == "PanicException"
    return is_panic or (isinstance(error, Exception) and not isinstance(error, TokenmillError))


def _built(make: Callable[[], Any], spec: TokenizerSpec) -> Any:  # of the library
    """Make the library's object; what the library refuses cannot be run by anybody."""
    try:
        return make()
    except BaseException as error:
        if not is_failure(error):
            raise
        reasons = (*spec.unsupported, f"the library {spec.reference!r} refuses it: {error}")
        raise UnsupportedTokenizer(
            f"cannot be run: {'; '.join(reasons)}", where=spec.name, reasons=reasons
        ) from error


def _import(name: str, spec: TokenizerSpec) -> Any:  # a module
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"{spec.name!r} runs through this library, which is not installed",
            name=name,
            hint=f"pip install {name}",
        ) from error


def _quiet(tokenizer: Any) -> Any:  # a class of the library
    """Switch off what a spec leaves out: ids must depend on the text alone."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
