"""The tokenizers of a service by name: loading, ready or failed, each for itself."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tokenmill._errors import ModelNotReady, OptionError, UnknownModel
from tokenmill._service.counters import OPERATIONS, Counters
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Tables: TypeAlias = Literal["usual", "small", "tiny"]
Source: TypeAlias = "Tokenizer | str | os.PathLike[str]"
Prepare: TypeAlias = "Callable[[str], None]"  # what is to be done with a source before it is loaded

_SAMPLE = (
    "The first thing that a reader of this text will see is that it says nothing much: 123 words, "
    "a few numbers (3.14, 2,718), and code: for (int i = 0; i < n; ++i) { sum += a[i]; }\n"
) * 23
_WEIGHT = 1 / 16
_MOST_JUMP = 4
_ENCODING = {"encode", "encode_batch", "count"}  # chat is slower: templates are a part of it
_TOKENS_OF: dict[str, Callable[[Any], int]] = {
    "encode_batch": lambda batch: len(batch.ids),
    "count": int,
    "decode": lambda _: 0,
    "run": lambda _: 0,
}


class ModelState:
    """One tokenizer of a service: `state` is "loading", "ready" or "failed", with its `error`."""

    __slots__ = (
        "error", "has_templates", "name", "native", "seconds", "source", "state", "tables",
        "tallies", "tokenizer",
    )  # fmt: skip

    def __init__(
        self, name: str, source: Source, tallies: Mapping[str, Tally], tables: Tables
    ) -> None:
        self.name = name
        self.tallies = tallies
        self.source = source
        self.tables = tables
        self.state = "loading"
        self.tokenizer: Tokenizer | None = None
        self.native: Any = None  # its model, for calls with a Stop
        self.error: BaseException | None = None
        self.seconds = 0.0  # that loading took
        self.has_templates = False  # its chat templates were read; not before one is needed

    @property
    def loaded(self) -> Tokenizer:
        """The tokenizer; ModelNotReady unless it is ready."""
        if self.tokenizer is None:
            raise _not_ready(self) from self.error
        return self.tokenizer

    def load(self, prepare: Prepare | None = None) -> None:
        """Load it, on a thread; an error is kept, not raised. `prepare` is called before it."""
        begin = time.perf_counter()
        try:
            source = self.source
            if isinstance(source, Tokenizer):
                loaded = source
            else:
                if prepare is not None:
                    prepare(os.fspath(source))
                loaded = Tokenizer.load(source, tables=self.tables)
            self.tallies["encode"].pace.calibrate(loaded)
            self.native = loaded.ready.model
            self.tokenizer, self.error, self.state = loaded, None, "ready"
        except Exception as error:  # the others still work; requests raise it
            self.error, self.state = error, "failed"
        self.seconds = time.perf_counter() - begin

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        reason = None if self.error is None else f"{type(self.error).__name__}: {self.error}"
        return {"state": self.state, "reason": reason, "load_seconds": self.seconds}


class Pace:
    """Seconds that a model takes for a byte: measured when it is loaded, and by its requests."""

    __slots__ = ("seconds_per_byte",)

    def __init__(self) -> None:
        self.seconds_per_byte = 1e-8

    def calibrate(self, tokenizer: Tokenizer) -> None:
        """Measure on a text of 4 KB; the first pass makes the tables."""
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            tokenizer.encode(_SAMPLE)
            times.append(time.perf_counter() - begin)
        self.seconds_per_byte = min(times) / len(_SAMPLE)

    def inline(self, size: int, seconds: float) -> None:
        """Take a measurement from the event loop, where nothing else ran.

        A machine that stops for 50 ms says nothing about the model: one call counts for at most
        four times of what is known.
        """
        known = self.seconds_per_byte
        self.seconds_per_byte += _WEIGHT * (min(seconds / size, _MOST_JUMP * known) - known)

    def threaded(self, size: int, seconds: float) -> None:
        """Take one from a thread, where waiting for the GIL counts too: only if it is faster."""
        if size and seconds < size * self.seconds_per_byte:
            self.inline(size, seconds)


class Tally(NamedTuple):
    """Where the requests of one operation of a model are counted, and how fast the model is."""

    place: int
    tokens_of: Callable[[Any], int]
    pace: Pace


class Models:
    """All tokenizers of a service; the first one is the default."""

    def __init__(
        self,
        sources: Source | Mapping[str, Source],
        counters: Counters | None,
        tables: Tables = "usual",
    ) -> None:
        if isinstance(sources, (Tokenizer, str, os.PathLike)):
            named = {_name_of(sources): sources}
            self._rename = not isinstance(sources, Tokenizer)
        else:
            named = dict(sources)
            self._rename = False
        if not named:
            raise OptionError("a service needs a tokenizer", where="tokenizers")
        for name, source in named.items():
            if not isinstance(source, (Tokenizer, str, os.PathLike)):
                raise OptionError(
                    f"expected a Tokenizer or where to load one from, got {type(source).__name__}",
                    where=f"tokenizers[{name!r}]",
                )
        self.counters = counters or Counters(len(named))
        self.states = {
            name: ModelState(name, source, _tallies(self.counters, i), tables)
            for i, (name, source) in enumerate(named.items())
        }
        self.default = next(iter(self.states.values()))

    @property
    def ready(self) -> bool:
        """Whether none is being loaded, and not all have failed."""
        states = {state.state for state in self.states.values()}
        return "loading" not in states and "ready" in states

    def settle_name(self) -> None:
        """Name a single source after its tokenizer, now that it is loaded."""
        first = self.default
        if self._rename and first.tokenizer is not None and first.tokenizer.name != first.name:
            first.name = first.tokenizer.name
            self.states = {first.name: first}

    def find(self, name: str | None) -> ModelState:
        """Return a model that is ready; UnknownModel or ModelNotReady if there is none."""
        state = self.default if name is None else self.states.get(name)
        if state is None:
            known = ", ".join(map(repr, self.states))
            raise UnknownModel(
                f"no model has the name {name!r}", model=str(name), hint=f"known: {known}"
            )
        if state.native is None:
            self.counters.rejected(state.tallies["encode"].place, "not_ready")
            raise _not_ready(state) from state.error
        return state


def _tallies(counters: Counters, model: int) -> dict[str, Tally]:
    """Return a tally for each operation; those that encode share what is known of the speed."""
    encode = Pace()
    return {
        name: Tally(
            counters.place(model, name),
            _TOKENS_OF.get(name, len),
            encode if name in _ENCODING else Pace(),
        )
        for name in OPERATIONS
    }


def _not_ready(state: ModelState) -> ModelNotReady:
    if state.state == "failed":
        problem = f"the model could not be loaded: {state.error}"
        return ModelNotReady(problem, model=state.name, state="failed")
    hint = "await start() loads it"
    problem = "the model is being loaded"
    return ModelNotReady(problem, model=state.name, state=state.state, hint=hint)


def _name_of(source: Source) -> str:
    return source.name if isinstance(source, Tokenizer) else os.fspath(source)
