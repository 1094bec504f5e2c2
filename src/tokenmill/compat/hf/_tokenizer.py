"""Tokenizer: the surface of `tokenizers.Tokenizer`."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._tokenizer import Tokenizer as Engine
from tokenmill.compat.hf._async_calls import AsyncCalls
from tokenmill.compat.hf._backend import COMPONENTS, EncodeCall, TwinBackend, decodable
from tokenmill.compat.hf._encoding import Encoding, SharedRows, library_encoding
from tokenmill.compat.hf._library import library

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokenmill.compat.hf._backend import NativeAnswer
    from tokenmill.compat.hf._sides import Detail

_LOOKUPS = frozenset({
    "get_added_tokens_decoder", "get_vocab", "get_vocab_size", "id_to_token",
    "num_special_tokens_to_add", "token_to_id",
})  # fmt: skip
_WITH_OPTIONS = frozenset({"save", "to_str"})
_CHANGES = frozenset({"add_special_tokens", "add_tokens", "train", "train_from_iterator"})
_OPTIONS = frozenset({
    "enable_padding", "enable_truncation", "no_padding", "no_truncation", "padding", "truncation",
})  # fmt: skip


class Tokenizer(AsyncCalls):
    """A `tokenizers.Tokenizer` that runs on tokenmill.

    tokenmill computes ids, offsets, words, masks, truncation, padding and decoding. The library's
    own object, loaded when it is first needed, answers the rest. Components can be read and set.
    """

    _backend: TwinBackend

    def __init__(self, model: Any) -> None:
        tokenizers = library("tokenizers")
        is_whole = isinstance(model, tokenizers.Tokenizer)
        peer = copy.deepcopy(model) if is_whole else tokenizers.Tokenizer(model)
        object.__setattr__(self, "_backend", TwinBackend(peer=peer))

    @classmethod
    def _of(cls, backend: TwinBackend) -> Tokenizer:
        made = cls.__new__(cls)
        object.__setattr__(made, "_backend", backend)
        return made

    @classmethod
    def wrap(cls, tokenizer: Any) -> Tokenizer:
        """Put tokenmill in front of a loaded `tokenizers.Tokenizer`, which must not change after.

        A method that was set on the object itself takes precedence over tokenmill's own.
        """
        made = cls._of(TwinBackend(peer=tokenizer))
        vars(made).update(vars(tokenizer))
        return made

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Load a tokenizer.json."""
        return cls._of(TwinBackend(source=Path(path).read_bytes(), engine=Engine.load(Path(path))))

    @classmethod
    def from_str(cls, json: str) -> Tokenizer:
        """Load the text of a tokenizer.json."""
        return cls._of(TwinBackend(peer=library("tokenizers").Tokenizer.from_str(json)))

    @classmethod
    def from_buffer(cls, buffer: bytes) -> Tokenizer:
        """Load the bytes of a tokenizer.json."""
        return cls._of(TwinBackend(peer=library("tokenizers").Tokenizer.from_buffer(buffer)))

    @classmethod
    def from_pretrained(
        cls, identifier: str, revision: str = "main", token: str | None = None
    ) -> Tokenizer:
        """Load from a local folder or from the hub."""
        local = Path(identifier) / "tokenizer.json"
        if local.is_file():
            return cls.from_file(local)
        peer = library("tokenizers").Tokenizer.from_pretrained(identifier, revision, token)
        return cls._of(TwinBackend(peer=peer))

    @property
    def is_native(self) -> bool:
        """Whether tokenmill computes the ids; if not, the library does."""
        return self._backend.engine() is not None

    @property
    def encode_special_tokens(self) -> bool:
        """Whether the text of a special token is encoded like any other text."""
        return self._backend.as_text

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._backend.as_text = bool(value)

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encode one text, or a pair of them."""
        found = self._native_one(sequence, pair, is_pretokenized, add_special_tokens)
        if found is not None:
            return found
        with self._backend.lock:
            peer = self._backend.synced_peer()
            return Encoding(peer=peer.encode(sequence, pair, is_pretokenized, add_special_tokens))

    def encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Encode many texts or pairs."""
        return self._encode_many(input, is_pretokenized, add_special_tokens, fast=False)

    def encode_batch_fast(
        self,
        input: Sequence[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Encode many texts or pairs; like the library, without offsets, words and tokens."""
        return self._encode_many(input, is_pretokenized, add_special_tokens, fast=True)

    def _encode_many(
        self, inputs: Any, is_pretokenized: bool, add_special_tokens: bool, *, fast: bool
    ) -> list[Encoding]:
        found = self._native_batch(inputs, is_pretokenized, add_special_tokens, fast=fast)
        if found is not None:
            return found
        with self._backend.lock:
            peer = self._backend.synced_peer()
            encode = peer.encode_batch_fast if fast else peer.encode_batch
            rows = encode(inputs, is_pretokenized, add_special_tokens)
        return [Encoding(peer=row) for row in rows]

    def post_process(
        self, encoding: Any, pair: Any = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, add special tokens and pad, for texts that were encoded without."""
        given = library_encoding(encoding), None if pair is None else library_encoding(pair)
        with self._backend.lock:
            found = self._backend.synced_peer().post_process(*given, add_special_tokens)
        return Encoding(peer=found, is_drawn=pair is not None and found.n_sequences > 1)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids."""
        engine = self._backend.engine()
        array = None if engine is None else decodable(ids, engine.vocab_size)
        if engine is None or array is None:
            text: str = self._backend.peer.decode(ids, skip_special_tokens)
            return text
        return engine.decode(self._shown(array, skip_special_tokens))

    def decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Return the text of each row of ids."""
        engine = self._backend.engine()
        size = 0 if engine is None else engine.vocab_size
        rows = [decodable(row, size) for row in sequences]
        shown = [self._shown(row, skip_special_tokens) for row in rows if row is not None]
        if engine is None or len(shown) < len(rows):
            texts: list[str] = self._backend.peer.decode_batch(sequences, skip_special_tokens)
            return texts
        return engine.decode_batch(shown)

    def __getattr__(self, name: str) -> Any:
        backend = self._backend
        if name in COMPONENTS:
            return backend.expose(name)
        if name in _OPTIONS:
            return getattr(backend.probe, name)
        if name in _LOOKUPS:
            return getattr(backend.peer, name)
        if name in _WITH_OPTIONS:
            return getattr(backend.synced_peer(), name)
        if name in _CHANGES:
            return partial(self._change, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in COMPONENTS:
            object.__setattr__(self, name, value)
            return
        self._backend.change(lambda peer: setattr(peer, name, value))

    def __dir__(self) -> list[str]:
        names = {*COMPONENTS, *_OPTIONS, *_LOOKUPS, *_WITH_OPTIONS, *_CHANGES}
        return sorted(names.union(super().__dir__()))

    def __repr__(self) -> str:
        return repr(self._backend.synced_peer())

    def __str__(self) -> str:
        return str(self._backend.synced_peer())

    def __reduce__(self) -> tuple[Any, ...]:
        state = self._backend.synced_peer().__getstate__()
        return _revive, (type(self), state, self._backend.as_text)

    def __deepcopy__(self, memo: object) -> Tokenizer:
        made = type(self).wrap(copy.deepcopy(self._backend.synced_peer()))
        made.encode_special_tokens = self.encode_special_tokens
        return made

    def call_of(
        self, inputs: Sequence[Any], is_pretokenized: bool, add_special: bool, *, fast: bool = False
    ) -> EncodeCall:
        """Return a call with the options that are set now."""
        probe, as_text = self._backend.probe, self._backend.as_text
        options = probe.truncation, probe.padding
        return EncodeCall(inputs, is_pretokenized, add_special, as_text, *options, fast)

    def answer(
        self, call: EncodeCall, detail: Detail = "ids", *, overflow: bool = False
    ) -> NativeAnswer | None:
        """Run a call on the engine; None if only the library can answer."""
        return self._backend.answer(call, detail, overflow=overflow)

    def _native_one(
        self, sequence: Any, pair: Any, is_pretokenized: bool, add_special_tokens: bool
    ) -> Encoding | None:
        texts = [sequence] if pair is None else [sequence, pair]
        if not all(_is_one(text, is_pretokenized) for text in texts):
            return None
        inputs = [sequence if pair is None else (sequence, pair)]
        answer = self.answer(self.call_of(inputs, is_pretokenized, add_special_tokens))
        return None if answer is None else self.encodings(answer)[0]

    def _native_batch(
        self, inputs: Any, is_pretokenized: bool, add_special_tokens: bool, *, fast: bool
    ) -> list[Encoding] | None:
        if not isinstance(inputs, (list, tuple)) or not inputs:
            return None
        call = self.call_of(inputs, is_pretokenized, add_special_tokens, fast=fast)
        answer = self.answer(call)
        return None if answer is None else self.encodings(answer)

    def encodings(self, answer: NativeAnswer) -> list[Encoding]:
        """Return the rows of an answer as encodings."""
        return self.encodings_later(answer)()

    def encodings_later(self, answer: NativeAnswer) -> Callable[[], list[Encoding]]:
        """Return a function that makes the encodings of an answer with the present tokenizer."""
        batch = SharedRows(self._backend, answer)
        return lambda: [Encoding(batch, i) for i in range(len(answer.rows.widths()))]

    def _shown(self, ids: NDArray[Any], skip_special_tokens: bool) -> NDArray[Any]:
        if not skip_special_tokens:
            return ids
        return ids[~np.isin(ids, self._backend.special_ids())]

    def _change(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._backend.change(lambda peer: getattr(peer, name)(*args, **kwargs))


def library_tokenizer(tokenizer: Any) -> Any:
    """Return the library's own object for one of ours; anything else is returned as it is."""
    if not isinstance(tokenizer, Tokenizer):
        return tokenizer
    return tokenizer._backend.synced_peer()  # noqa: SLF001 -- the class belongs to this module


def _revive(cls: type[Tokenizer], state: bytes, as_text: bool) -> Tokenizer:
    made = cls.wrap(library("tokenizers").Tokenizer.from_buffer(state))
    made.encode_special_tokens = as_text
    return made


def _is_one(sequence: object, is_pretokenized: bool) -> bool:
    """Whether it is one sequence, and not a pair."""
    if not is_pretokenized:
        return isinstance(sequence, str)
    return isinstance(sequence, (list, tuple)) and all(isinstance(w, str) for w in sequence)
