"""`Service`: the calls of a tokenizer for asyncio, bounded under every load."""

from __future__ import annotations

import weakref
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from tokenmill._calls.options import limit_of, modes, texts_of
from tokenmill._errors import ServiceClosed
from tokenmill._platform.memory import resident_bytes
from tokenmill._platform.processes import after_fork
from tokenmill._service.chat_work import SizedChat, counted_chat
from tokenmill._service.door import Door
from tokenmill._service.limits import limits_of
from tokenmill._service.loading import Loader
from tokenmill._service.memory import MemoryGuard
from tokenmill._service.models import Models
from tokenmill._service.sizes import (
    may_exceed,
    size_of_ids,
    size_of_messages,
    size_of_text,
    size_of_texts,
)
from tokenmill._service.ticker import Ticker
from tokenmill._service.work import (
    BIG_TEXT,
    encode_big,
    encode_texts,
    measured_first,
    with_stop,
    without_stop,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self, Unpack

    from tokenmill import Tokenizer
    from tokenmill._calls.batch import TokenBatch
    from tokenmill._core import Stop
    from tokenmill._post.request import Errors, SpecialInText
    from tokenmill._service.counters import Counters
    from tokenmill._service.limits import LimitOptions, Limits
    from tokenmill._service.models import ModelState, Prepare, Source

T = TypeVar("T")
_NAMES = ("add_special_tokens", "special_in_text", "errors")

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
        self._limits = limits_of(profile, limits)
        self._models = Models(tokenizers, counters, self._limits.tables)
        self._cache = cache
        self._guard = MemoryGuard(self._limits.memory_limit)
        self._guard.hooks.append(self.release_tables)
        if cache is not None:
            self._guard.hooks.append(cache.clear)
        self._door: Door | None = None  # the three of a service that runs
        self._loader: Loader | None = None
        self._ticker: Ticker | None = None

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

    async def start(self, *, wait: bool = True, prepare: Prepare | None = None) -> None:
        """Take requests, and load the models on threads.

        With `wait`, return when each is loaded or has failed, and raise if none can be used;
        without, at once: `ready` and `models` say how far it is. `prepare` is called with the
        source of each model, on its thread, before it is loaded.
        """
        if self._door is not None and self._door.is_lost:
            self._door.abandon()
            self._forget()
        if self._door is None:
            self._door = Door(self._limits, self.counters)
            self._ticker = Ticker(self._door, self.counters, self._guard, self.release_tables)
            models = self._models
            self._loader = Loader(models.states.values(), models.settle_name, prepare)
            _started.add(self)
        if wait and self._loader is not None:
            await self._loader.wait()
            error = self._models.default.error
            if error is not None and not self._models.ready:
                await self.close()
                raise error

    async def close(self, grace: float | None = None) -> None:
        """Take no more requests, wait up to `grace` seconds for those inside, stop the rest."""
        door, loader, ticker = self._door, self._loader, self._ticker
        if door is None or door.is_closing or loader is None or ticker is None:
            return
        patience = self._limits.grace if grace is None else grace
        ticker.stop()
        await door.close(patience)
        await loader.close(patience)
        self._write_gauges()
        self._forget()

    def _forget(self) -> None:
        """Be as before `start`; in a forked process too: no thread of the parent is here."""
        self._door = self._loader = self._ticker = None
        _started.discard(self)

    def _write_gauges(self) -> None:
        door = self._door
        self.counters.gauges(door.inflight if door else 0, door.queued if door else 0)

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
        door, state = self._door or self._open_door(), self._models.find(model)
        size = size_of_text(text)
        options = (add_special_tokens, *_modes(special_in_text, errors))
        if self._cache is not None:
            named = dict(zip(_NAMES, (add_special_tokens, special_in_text, errors), strict=True))
            call: Any = partial(with_stop, partial(self._cache.encode, state.loaded, text, **named))
        elif size >= BIG_TEXT:
            call = partial(encode_big, state.native, text, options, door.threads)
        else:
            call = partial(state.native.encode, text, *options)
        if may_exceed(text, self._limits.max_text_bytes):
            call = partial(measured_first, call, [text], self._limits.max_text_bytes)
        return await door.run(call, size, timeout, state.tallies["encode"])

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
        door, state = self._door or self._open_door(), self._models.find(model)
        texts, limit = texts_of(texts), self._limits.max_text_bytes
        options = (add_special_tokens, *_modes(special_in_text, errors))
        call: Any = partial(encode_texts, state.native, texts, options, door.threads)
        size, is_guess = size_of_texts(texts)
        if is_guess or any(may_exceed(text, limit) for text in texts):
            call = partial(measured_first, call, texts, limit)
            size = min(size, limit)
        return await door.run(call, size, timeout, state.tallies["encode_batch"])

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
        door, state = self._door or self._open_door(), self._models.find(model)
        options = (add_special_tokens, *_modes(special_in_text, errors), limit_of(limit))
        call: Any = partial(state.native.count, text, *options)
        if may_exceed(text, self._limits.max_text_bytes):
            call = partial(measured_first, call, [text], self._limits.max_text_bytes)
        return await door.run(call, size_of_text(text), timeout, state.tallies["count"])

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
        door, state = self._door or self._open_door(), self._models.find(model)
        call = partial(
            state.loaded.decode,
            ids,
            skip_special_tokens=skip_special_tokens,
            clean_up=clean_up,
            errors=errors,
        )
        size = size_of_ids(ids)
        return await door.run(partial(without_stop, call), size, timeout, state.tallies["decode"])

    async def chat(
        self,
        messages: Any,
        *,
        model: str | None = None,
        timeout: float | None = None,
        **options: Any,  # those of Tokenizer.chat
    ) -> NDArray[np.uint32]:
        """Return the ids of a conversation; the options are those of `Tokenizer.chat`."""
        chat = SizedChat(messages, options, size_of_messages(messages))
        return await self.encode_chat(chat, model, timeout)

    async def render_chat(
        self,
        messages: Any,
        *,
        model: str | None = None,
        timeout: float | None = None,
        **options: Any,  # those of Tokenizer.render_chat
    ) -> str:
        """Return the text of a conversation; the options are those of `Tokenizer.render_chat`."""
        chat = SizedChat(messages, options, size_of_messages(messages))
        return await self.write_chat(chat, model, timeout)

    async def encode_chat(
        self, chat: SizedChat, model: str | None = None, timeout: float | None = None
    ) -> NDArray[np.uint32]:
        """Return what `chat` does, for a caller who knows how large a conversation is."""
        door, state = self._door or self._open_door(), self._models.find(model)
        with counted_chat(state, chat, self.counters) as work:
            size = work.size(self._limits.inline_bytes)
            return await door.run(work.encode, size, timeout, state.tallies["chat"])

    async def write_chat(
        self, chat: SizedChat, model: str | None = None, timeout: float | None = None
    ) -> str:
        """Return what `render_chat` does, for a caller who knows how large a conversation is."""
        door, state = self._door or self._open_door(), self._models.find(model)
        with counted_chat(state, chat, self.counters) as work:
            size = work.size(self._limits.inline_bytes)
            return await door.run(work.write, size, timeout, state.tallies["run"])

    async def run(self, job: Callable[[Stop], T], *, size: int, timeout: float | None = None) -> T:
        """Run any call like a request of `size` bytes: inline or on a thread, within the limits.

        `job` gets a Stop to pass to calls of a model, or to ask for `stop.due` now and then.
        """
        door = self._door or self._open_door()
        return await door.run(job, size, timeout, self._models.default.tallies["run"])

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
        return self._models.counters

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
        """Keep nearly no queue for now, so that what is taken is answered soon; or all of it."""
        if self._door is not None:
            self._door.narrow(is_narrow=is_narrow)

    def renew_turn(self) -> None:
        """Let small requests run at once again: the caller shares out the event loop's time."""
        if self._door is not None:
            self._door.renew_turn()

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
            "memory": {"resident": resident_bytes(), "releases": self._guard.releases},
            "counters": self.counters.as_dict(names),
        }


def _modes(special_in_text: str, errors: str) -> tuple[int, int]:
    if special_in_text == "encode" and errors == "strict":
        return 0, 0
    return modes(special_in_text, errors)


def _forget_all() -> None:
    for service in list(_started):
        service._forget()  # noqa: SLF001 -- of this module
    _started.clear()


after_fork(_forget_all)
