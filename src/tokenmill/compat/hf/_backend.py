"""The engine and the library's own tokenizer, kept equal.

The engine computes ids and offsets. The peer, the library's tokenizer, is loaded when it is first
needed and answers the rest: above all unusual arguments and their errors. Every change is made to
the peer; the engine is then built again from it.
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
from tokenmill.compat.hf._rows import BatchRows, SingleRow
from tokenmill.compat.hf._sides import (
    Detail,
    encode_column,
    has_spans,
    templates,
    tokens_needed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_MODEL_SETTINGS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
    "byte_fallback", "ignore_merges", "max_input_chars_per_word",
)  # fmt: skip
_UNSET: Any = object()


class EncodeCall(NamedTuple):
    """The arguments and options of one call; `inputs` is what the library takes.

    `fast`: the call is `encode_batch_fast`, which has no offsets.
    """

    inputs: Sequence[Any]
    is_pretokenized: bool
    add_special_tokens: bool
    as_text: bool
    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None
    fast: bool = False


class NativeAnswer(NamedTuple):
    """The engine's result for a call. The engine is immutable, so it can compute more later."""

    engine: Engine
    call: EncodeCall
    rows: BatchRows | SingleRow
    overflow: bool
    n_sequences: int

    def placed(self) -> BatchRows | SingleRow | None:
        """Return the rows with "spans" and "words"; None if only the library knows them."""
        if self.call.fast:
            return None
        return _rows(self.engine, self.call, "words", overflow=self.overflow)


class TwinBackend:
    """One tokenizer twice: the engine, and the library's own object."""

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
        """Return the engine; None if it would only call the library."""
        if self._exposed:
            self._notice()
        engine: Any = self._engine
        if engine is _UNSET:
            with self.lock:
                engine = self._engine
                if engine is _UNSET:
                    engine = self._engine = _native_engine(self.synced_peer())
        found: Engine | None = engine
        return found

    def synced_peer(self) -> Any:
        """Return the peer with the options that are set now."""
        with self.lock:
            copy_options(self.probe, self.peer)
            self.peer.encode_special_tokens = self.as_text
            return self.peer

    def change(self, action: Callable[[Any], Any]) -> Any:
        """Change the peer; calls that still need its present state run first."""
        with self.lock:
            for run in list(self._pending):
                run.encodings()
            result = action(self.synced_peer())
            self._forget_engine()
            return result

    def _forget_engine(self) -> None:
        """Drop everything that was derived from the peer before a change."""
        self._engine = _UNSET
        self._special_texts.clear()
        self._special = self._added = None
        self._exposed = {name: _state(name, getattr(self.peer, name)) for name in self._exposed}
        options = self.probe
        self.probe = probe_of_peer(self.peer)
        copy_options(options, self.probe)

    def expose(self, name: str) -> Any:
        """Return a component, and watch it from now on: the caller can change it in place."""
        with self.lock:
            component = getattr(self.peer, name)
            self._exposed.setdefault(name, _state(name, component))
            return component

    def _notice(self) -> None:
        """Follow a component that was changed in place."""
        with self.lock:
            if any(_state(n, getattr(self.peer, n)) != state for n, state in self._exposed.items()):
                self._forget_engine()

    def special_ids(self) -> NDArray[np.int64]:
        """Return the ids of special tokens, which decoding can skip."""
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
        """Return the special tokens around one text, or around two, as strings."""
        if pair not in self._special_texts:
            self._special_texts[pair] = special_texts(self.probe, pair=pair)
        return self._special_texts[pair]

    def answer(
        self, call: EncodeCall, detail: Detail = "ids", *, overflow: bool = False
    ) -> NativeAnswer | None:
        """Run a call on the engine; None if only the library can answer."""
        engine = self.engine()
        if engine is None:
            return None
        rows = _rows(engine, call, detail, overflow=overflow)
        if rows is None:
            return None
        return NativeAnswer(engine, call, rows, overflow, len(rows.layout.sides))

    def run(self, call: EncodeCall) -> PeerRun:
        """Return a call on the peer that runs when its result is needed."""
        run = PeerRun(self, call)
        with self.lock:
            self._pending.add(run)
        return run

    def forget(self, run: PeerRun) -> None:
        """Drop a call that has run."""
        self._pending.discard(run)


class PeerRun:
    """A call on the peer that runs when its result is needed."""

    def __init__(self, backend: TwinBackend, call: EncodeCall) -> None:
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
        encode = peer.encode_batch_fast if call.fast else peer.encode_batch
        encodings: list[Any] = encode(call.inputs, call.is_pretokenized, call.add_special_tokens)
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


def _rows(
    engine: Engine, call: EncodeCall, detail: Detail, *, overflow: bool
) -> BatchRows | SingleRow | None:
    """Lay out a call; None if the library has an error, an order or offsets of its own."""
    columns = _columns(call.inputs, is_pretokenized=call.is_pretokenized)
    if columns is None or (detail != "ids" and not has_spans(engine)):
        return None
    truncation, padding = truncation_of(call.truncation), padding_of(call.padding)
    wanted = Wanted(None, truncation, padding, overflow, False, False, False)
    around, add = templates(engine), call.add_special_tokens
    alone = len(call.inputs) == 1 and not overflow
    try:
        need = tokens_needed(engine, columns, wanted, add_special_tokens=add)
        how = {"is_pretokenized": call.is_pretokenized, "as_text": call.as_text}
        sides = [encode_column(engine, column, detail, need=need, **how) for column in columns]
        if alone:
            return SingleRow(arrange_one(sides, around, wanted, add_special_tokens=add))
        return BatchRows(arrange(sides, around, wanted, add_special_tokens=add))
    except TokenmillError:
        return None


def _state(name: str, component: Any) -> object:
    """Return a value that differs after a change of the component in place."""
    if name == "model":
        return type(component).__name__, [getattr(component, s, None) for s in _MODEL_SETTINGS]
    return None if component is None else component.__getstate__()


def _columns(inputs: Sequence[Any], *, is_pretokenized: bool) -> list[list[Any]] | None:
    """Return the first texts, and the second ones of pairs; None for unusual inputs."""
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
    """Return ids as an array; None if the engine does not know all of them."""
    array = np.asarray(ids)
    if array.size == 0 and isinstance(ids, (list, tuple)):
        return np.empty(0, dtype=np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return None
    return array if array.min() >= 0 and array.max() < size else None
