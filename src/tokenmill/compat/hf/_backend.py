"""The engine and the library's own tokenizer side by side, kept the same.

The engine gives ids, and where they stand; the peer, loaded when it is first needed, answers what
the engine does not know (odd arguments and their errors, above all). A change goes to the peer, and
the engine is then made anew of it.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill._errors import ReferencePathWarning, TokenmillError
from tokenmill._load.fields import parse_json
from tokenmill._post import Wanted, arrange, arrange_one
from tokenmill._tokenizer import Tokenizer as Engine
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._probe import (
    copy_options,
    padding_of,
    probe_of_json,
    probe_of_peer,
    special_texts,
    truncation_of,
)
from tokenmill.compat.hf._rows import RowAlone, Rows
from tokenmill.compat.hf._sides import Detail, encode_column, has_spans, templates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_MODEL_SETTINGS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
    "byte_fallback", "ignore_merges", "max_input_chars_per_word",
)  # fmt: skip
_UNSET: Any = object()


class Call(NamedTuple):
    """What a tokenizer was asked for; `inputs` is as the library takes it."""

    inputs: Sequence[Any]
    is_pretokenized: bool
    add_special_tokens: bool
    as_text: bool
    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None


class Answer(NamedTuple):
    """What the engine made of a call; it cannot change, so more can be asked of it later."""

    engine: Engine
    call: Call
    rows: Rows | RowAlone
    overflow: bool
    n_sequences: int

    def placed(self) -> Rows | RowAlone | None:
        """Return the rows with "spans" and "words"; None where only the library knows them."""
        return _rows(self.engine, self.call, "words", overflow=self.overflow)


class Backend:
    """One tokenizer twice."""

    def __init__(
        self, *, source: bytes | None = None, engine: Engine | None = None, peer: Any = None
    ) -> None:
        self.lock = threading.RLock()
        self._source = source
        self._peer = peer
        self._engine: Any = _UNSET if engine is None else _native(engine)
        self._special_texts: dict[bool, list[str]] = {}
        self._special: NDArray[np.int64] | None = None
        self._added: frozenset[int] | None = None
        self._exposed: dict[str, object] = {}
        self._pending: weakref.WeakSet[PeerRun] = weakref.WeakSet()
        self.as_text = peer is not None and bool(peer.encode_special_tokens)
        if peer is None:
            self.probe = probe_of_json(parse_json(source or b""))
        else:
            self.probe = probe_of_peer(peer)

    @property
    def peer(self) -> Any:
        """The library's tokenizer. Its options may be those of any earlier call."""
        if self._peer is None:
            with self.lock:
                if self._peer is None:
                    assert self._source is not None  # noqa: S101 -- for the type checker
                    text = self._source.decode()
                    self._peer, self._source = library("tokenizers").Tokenizer.from_str(text), None
        return self._peer

    def engine(self) -> Engine | None:
        """Return the engine, None where it would only run the library."""
        if self._exposed:
            self._notice()
        if self._engine is _UNSET:
            with self.lock:
                self._engine = _native_engine(self.synced_peer())
        engine: Engine | None = self._engine
        return engine

    def synced_peer(self) -> Any:
        """Return the peer with the options that are set now."""
        with self.lock:
            copy_options(self.probe, self.peer)
            self.peer.encode_special_tokens = self.as_text
            return self.peer

    def changing(self) -> Any:
        """Return the peer to be changed; what was promised for the state before is done first."""
        for run in list(self._pending):
            run.encodings()
        return self.synced_peer()

    def changed(self) -> None:
        """Follow a change of the peer."""
        self._engine = _UNSET
        self._special_texts.clear()
        self._special = self._added = None
        self._exposed = {name: _state(name, getattr(self.peer, name)) for name in self._exposed}
        options = self.probe
        self.probe = probe_of_peer(self.peer)
        copy_options(options, self.probe)

    def expose(self, name: str) -> Any:
        """Hand out a component; from now on it is watched, for it can be changed in place."""
        component = getattr(self.peer, name)
        self._exposed.setdefault(name, _state(name, component))
        return component

    def _notice(self) -> None:
        if any(_state(n, getattr(self.peer, n)) != state for n, state in self._exposed.items()):
            self.changed()

    def special_ids(self) -> NDArray[np.int64]:
        """Return the ids that decoding may leave out."""
        if self._special is None:
            added = self.peer.get_added_tokens_decoder().items()
            self._special = np.array([i for i, token in added if token.special], dtype=np.int64)
        return self._special

    def added_ids(self) -> frozenset[int]:
        """Return the ids of all added tokens."""
        if self._added is None:
            self._added = frozenset(self.peer.get_added_tokens_decoder())
        return self._added

    def special_texts(self, *, pair: bool) -> list[str]:
        """Return how the tokens are written that are put around one text or two."""
        if pair not in self._special_texts:
            self._special_texts[pair] = special_texts(self.probe, pair=pair)
        return self._special_texts[pair]

    def answer(
        self, call: Call, detail: Detail = "ids", *, overflow: bool = False
    ) -> Answer | None:
        """Run a call on the engine; None where the library must be asked."""
        engine = self.engine()
        if engine is None:
            return None
        rows = _rows(engine, call, detail, overflow=overflow)
        if rows is None:
            return None
        return Answer(engine, call, rows, overflow, len(rows.layout.sides))

    def run(self, call: Call) -> PeerRun:
        """Promise to run a call on the peer."""
        run = PeerRun(self, call)
        self._pending.add(run)
        return run

    def forget(self, run: PeerRun) -> None:
        """Take note that a promise is kept."""
        self._pending.discard(run)


class PeerRun:
    """A call on the peer, made when its answer is needed."""

    def __init__(self, backend: Backend, call: Call) -> None:
        self._backend = backend
        self._call = call
        self._encodings: list[Any] | None = None

    def encodings(self) -> list[Any]:
        """Return the library's own encodings of all inputs."""
        with self._backend.lock:
            if self._encodings is None:
                self._encodings = self._run()
                self._backend.forget(self)
            return self._encodings

    def _run(self) -> list[Any]:
        call, peer = self._call, self._backend.peer
        peer.no_truncation() if call.truncation is None else peer.enable_truncation(
            **call.truncation
        )
        peer.no_padding() if call.padding is None else peer.enable_padding(**call.padding)
        peer.encode_special_tokens = call.as_text
        encodings: list[Any] = peer.encode_batch(
            call.inputs, call.is_pretokenized, call.add_special_tokens
        )
        return encodings


def _native_engine(peer: Any) -> Engine | None:
    try:
        engine = Engine.load(peer)
    except TokenmillError as error:
        warnings.warn(
            f"runs through the library 'tokenizers', exact but at its speed: {error}",
            ReferencePathWarning,
            stacklevel=2,
        )
        return None
    return _native(engine)


def _native(engine: Engine) -> Engine | None:
    return engine if engine.describe().path != "reference" else None


def _rows(engine: Engine, call: Call, detail: Detail, *, overflow: bool) -> Rows | RowAlone | None:
    """Lay out a call; None where the library has an error, an order or offsets of its own."""
    columns = _columns(call.inputs, is_pretokenized=call.is_pretokenized)
    if columns is None or (detail != "ids" and not has_spans(engine)):
        return None
    truncation, padding = truncation_of(call.truncation), padding_of(call.padding)
    wanted = Wanted(None, truncation, padding, overflow, False, False, False)
    alone = len(call.inputs) == 1 and not overflow
    try:
        sides = [
            encode_column(engine, column, detail, call.is_pretokenized, call.as_text)
            for column in columns
        ]
        around, add = templates(engine), call.add_special_tokens
        if alone:
            return RowAlone(arrange_one(sides, around, wanted, add_special_tokens=add))
        return Rows(arrange(sides, around, wanted, add_special_tokens=add))
    except TokenmillError:
        return None


def _state(name: str, component: Any) -> object:
    """Return what tells whether a component was changed in place."""
    if name == "model":
        return type(component).__name__, [getattr(component, s, None) for s in _MODEL_SETTINGS]
    return None if component is None else component.__getstate__()


def _columns(inputs: Sequence[Any], *, is_pretokenized: bool) -> list[list[Any]] | None:
    """Return the first texts, and the second ones of pairs; None if the inputs are odd."""
    is_text = _is_words if is_pretokenized else _is_str
    if all(map(is_text, inputs)):
        return [list(inputs)]
    if all(isinstance(item, (tuple, list)) and len(item) == 2 for item in inputs):  # noqa: PLR2004
        first, second = [item[0] for item in inputs], [item[1] for item in inputs]
        if all(map(is_text, first)) and all(map(is_text, second)):
            return [first, second]
    return None


def _is_str(item: object) -> bool:
    return isinstance(item, str)


def _is_words(item: object) -> bool:
    return isinstance(item, (list, tuple)) and all(map(_is_str, item))


def decodable(ids: Any, size: int) -> NDArray[Any] | None:
    """Return ids as an array if the engine has all of them."""
    array = np.asarray(ids)
    if array.size == 0 and isinstance(ids, (list, tuple)):
        return np.empty(0, dtype=np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return None
    return array if array.min() >= 0 and array.max() < size else None
