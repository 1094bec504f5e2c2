"""`Service`: the calls of a tokenizer for asyncio, bounded under every load."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.options import modes, texts_of
from tokenmill._errors import ServiceClosed, UnsupportedTokenizer
from tokenmill._service.door import Door
from tokenmill._service.limits import limits_of
from tokenmill._service.models import Models
from tokenmill._service.sizes import size_of_ids, size_of_text, size_of_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self, Unpack

    from tokenmill import Tokenizer
    from tokenmill._core import Stop
    from tokenmill._post.request import Errors, SpecialInText
    from tokenmill._service.counters import Counters
    from tokenmill._service.limits import LimitOptions, Limits
    from tokenmill._service.models import ModelState, Source

T = TypeVar("T")

_TICK = 0.1  # seconds between two measurements of the event loop
_started: weakref.WeakSet[Service] = weakref.WeakSet()


class Service:
    """Tokenizers for asyncio. Small requests run at once, others on threads of the service.

    ::

        async with Service("tokenizer.json", profile="realtime", max_queue=64) as service:
            ids = await service.encode("Hello world")

    `tokenizers` is one tokenizer or where to load it from, or several by name; the first is used
    where a call has no `model`. `profile` ("training", "inference", "realtime", "edge") sets all
    limits, options change single ones. A request over a limit raises Overloaded at once. A
    `timeout` and a cancellation of the waiting task stop the work itself.
    """

    def __init__(
        self,
        tokenizers: Source | Mapping[str, Source],
        *,
        profile: str = "inference",
        cache: Any = None,  # a SegmentCache
        counters: Counters | None = None,
        **limits: Unpack[LimitOptions],
    ) -> None:
        self._models = Models(tokenizers, counters)
        self._limits = limits_of(profile, limits)
        self._cache = cache
        self._counters = self._models.counters
        self._door: Door | None = None  # while it runs
        self._loading: asyncio.Future[None] | None = None
        self._loader: threading.Thread | None = None
        self._ticker: asyncio.TimerHandle | None = None

    # ---- start and stop

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self, *, wait: bool = True) -> None:
        """Take requests, and load the models on a thread.

        With `wait`, return when each is loaded or has failed, and raise if none can be used;
        without, at once: `ready` and `models` say how far it is.
        """
        if self._door is not None:
            return
        loop = asyncio.get_running_loop()
        self._door = Door(self._limits, self._counters)
        _started.add(self)
        self._ticker = loop.call_later(_TICK, self._tick, loop.time() + _TICK)
        self._loading = loop.create_future()
        self._loader = threading.Thread(
            target=self._load, args=(loop, self._loading), name="tokenmill-load", daemon=True
        )
        self._loader.start()
        if wait:
            await asyncio.shield(self._loading)
            states = self._models.states.values()
            if all(state.state == "failed" for state in states) and self._models.default.error:
                await self.close()
                raise self._models.default.error

    def _load(self, loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
        self._models.load()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_finish, done)

    async def close(self, grace: float | None = None) -> None:
        """Take no more requests, wait up to `grace` seconds for those inside, stop the rest."""
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        door = self._door
        if door is not None and not door.is_closing:
            await door.close(self._limits.grace if grace is None else grace)
            self._door = None
        if self._loading is not None and self._loader is not None:
            await asyncio.wait([self._loading])
            self._loader.join()
            self._loader = self._loading = None
        _started.discard(self)

    def _tick(self, expected: float) -> None:
        loop = asyncio.get_running_loop()
        self._counters.lag(max(0.0, loop.time() - expected))
        self._write_gauges()
        self._ticker = loop.call_later(_TICK, self._tick, loop.time() + _TICK)

    def _write_gauges(self) -> None:
        door = self._door
        self._counters.gauges(door.inflight if door else 0, door.queued if door else 0)

    def _forget(self) -> None:
        """In a forked process: no thread of the parent is here."""
        self._door = self._loading = self._loader = self._ticker = None

    def _open_door(self) -> Door:
        if self._door is None:
            raise ServiceClosed(
                "the service is not running", hint="use `async with Service(...)`, or await start()"
            )
        return self._door

    # ---- requests

    async def encode(
        self,
        text: Any,
        *,
        model: str | None = None,
        timeout: float | None = None,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
    ) -> NDArray[np.uint32]:
        """Return the ids of one text; the options are those of `Tokenizer.encode`."""
        state = self._models.find(model)
        options = _modes(special_in_text, errors)
        if self._cache is None:
            native: Any = state.loaded.ready.model
            call: Any = partial(native.encode, text, add_special_tokens, *options)
        else:
            call = partial(
                self._cache.encode,
                state.tokenizer,
                text,
                add_special_tokens=add_special_tokens,
                special_in_text=special_in_text,
                errors=errors,
            )
            call = partial(_with_stop, call)
        door = self._door or self._open_door()
        return await door.run(call, size_of_text(text), timeout, state.tallies["encode"])

    async def encode_batch(
        self,
        texts: Any,
        *,
        model: str | None = None,
        timeout: float | None = None,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
    ) -> TokenBatch:
        """Return the ids of many texts; the options are those of `Tokenizer.encode_batch`."""
        state = self._models.find(model)
        texts = texts_of(texts)
        options = add_special_tokens, *_modes(special_in_text, errors)
        call = partial(self._encode_batch, state, texts, options)
        tally = state.tallies["encode_batch"]
        return await self._open_door().run(call, size_of_texts(texts), timeout, tally)

    def _encode_batch(
        self, state: ModelState, texts: Any, options: tuple[Any, ...], stop: Stop
    ) -> TokenBatch:
        native: Any = state.loaded.ready.model
        threads = 1 + self._open_door().spare_threads()
        return TokenBatch(*native.encode_batch(texts, threads, 32, *options, stop))

    async def count(
        self,
        text: Any,
        limit: int | None = None,
        *,
        model: str | None = None,
        timeout: float | None = None,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
    ) -> int:
        """Return the number of ids of one text; with `limit`, `limit + 1` means more."""
        state = self._models.find(model)
        native: Any = state.loaded.ready.model
        options = _modes(special_in_text, errors)
        most = -1 if limit is None else limit
        call = partial(native.count, text, add_special_tokens, *options, most)
        tally = state.tallies["count"]
        return await self._open_door().run(call, size_of_text(text), timeout, tally)

    async def decode(
        self,
        ids: ArrayLike,
        *,
        model: str | None = None,
        timeout: float | None = None,
        skip_special_tokens: bool = False,
        clean_up: bool = False,
        errors: str = "replace",
    ) -> str:
        """Return the text of ids; the options are those of `Tokenizer.decode`."""
        state = self._models.find(model)
        call = partial(
            self.tokenizer(model).decode,
            ids,
            skip_special_tokens=skip_special_tokens,
            clean_up=clean_up,
            errors=errors,
        )
        return await self._open_door().run(
            partial(_without_stop, call), size_of_ids(ids), timeout, state.tallies["decode"]
        )

    async def chat(
        self,
        messages: Any,
        *,
        model: str | None = None,
        timeout: float | None = None,
        **options: Any,  # those of Tokenizer.chat
    ) -> NDArray[np.uint32]:
        """Return the ids of a conversation; the options are those of `Tokenizer.chat`."""
        state = self._models.find(model)
        chat = getattr(state.tokenizer, "chat", None)
        if chat is None:
            raise UnsupportedTokenizer("this version of Tokenizer has no chat", where="chat")
        call = partial(_without_stop, partial(chat, messages, **options))
        size = _size_of_messages(messages)
        return await self._open_door().run(call, size, timeout, state.tallies["chat"])

    async def run(self, job: Callable[[Stop], T], *, size: int, timeout: float | None = None) -> T:
        """Run any call like a request of `size` bytes: inline or on a thread, within the limits.

        `job` gets a Stop to pass to calls of a model, and is to look at `stop.due` now and then.
        """
        return await self._open_door().run(job, size, timeout, self._models.default.tallies["run"])

    # ---- what it is and does

    def tokenizer(self, model: str | None = None) -> Tokenizer:
        """Return a model that is ready; UnknownModel, or ModelNotReady with the reason."""
        return self._models.find(model).loaded

    @property
    def ready(self) -> bool:
        """Whether it takes requests for all of its models."""
        door = self._door
        is_open = door is not None and not door.is_closing and door.shed is None
        return is_open and self._models.ready

    @property
    def models(self) -> Mapping[str, ModelState]:
        """Each model and its state."""
        return MappingProxyType(self._models.states)

    @property
    def limits(self) -> Limits:
        """What it may use."""
        return self._limits

    @property
    def counters(self) -> Counters:
        """What it counts."""
        return self._counters

    @property
    def cache(self) -> Any:
        """Its SegmentCache, or None."""
        return self._cache

    def memory(self) -> dict[str, int]:
        """Return the bytes of its models: mapped from files, and in the tables of their workers."""
        use = [
            state.tokenizer.memory() for state in self._models.states.values() if state.tokenizer
        ]
        return {key: sum(one.get(key, 0) for one in use) for key in ("mapped", "tables")}

    # ---- what a Watch does

    def narrow(self, *, is_narrow: bool) -> None:
        """Keep nearly no queue for now, so that what is taken is answered soon; or keep it again."""
        if self._door is not None:
            self._door.narrow(is_narrow=is_narrow)

    def refuse(self, reason: str | None) -> None:
        """Refuse everything for now, for this reason; None takes requests again."""
        if self._door is not None:
            self._door.shed = reason

    def release_tables(self) -> None:
        """Give the tables of idle workers back; the next requests make them again."""
        for state in self._models.states.values():
            if state.tokenizer is not None:
                state.tokenizer.release()

    def stats(self) -> dict[str, Any]:
        """Return its state, limits and counts as plain values, for JSON."""
        self._write_gauges()
        names = list(self._models.states)
        return {
            "ready": self.ready,
            "shed": self._door.shed if self._door else None,
            "models": {name: state.as_dict() for name, state in self._models.states.items()},
            "limits": self._limits.as_dict(),
            "counters": self._counters.as_dict(names),
        }


def _modes(special_in_text: str, errors: str) -> tuple[int, int]:
    if special_in_text == "encode" and errors == "strict":
        return 0, 0
    return modes(special_in_text, errors)


def _with_stop(call: Callable[..., T], stop: Stop) -> T:
    return call(stop=stop)


def _without_stop(call: Callable[[], T], stop: Stop) -> T:
    """Run what cannot be stopped, unless it is too late already."""
    stop.check()
    return call()


def _size_of_messages(messages: Any) -> int:
    if not isinstance(messages, (list, tuple)):
        return 0
    return sum(len(str(message)) for message in messages)


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _forget_all() -> None:
    for service in list(_started):
        service._forget()  # noqa: SLF001 -- of this module
    _started.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
