"""The asynchronous methods of `tokenizers.Tokenizer`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from tokenmill.compat.hf._encoding import Encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill.compat.hf._backend import TwinBackend


class AsyncCalls:
    """The methods that run outside the event loop; a base of `Tokenizer`."""

    _backend: TwinBackend
    _native_one: Callable[..., Encoding | None]
    _native_batch: Callable[..., list[Encoding] | None]
    decode_batch: Callable[..., list[str]]

    async def async_encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Run `encode` outside the event loop."""
        given = sequence, pair, is_pretokenized, add_special_tokens
        found = await asyncio.to_thread(self._native_one, *given)
        if found is not None:
            return found
        return Encoding(peer=await asyncio.to_thread(self._ask_async, "async_encode", *given))

    async def async_encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Run `encode_batch` outside the event loop."""
        given = input, is_pretokenized, add_special_tokens
        return await self._encode_many_async("async_encode_batch", given, fast=False)

    async def async_encode_batch_fast(
        self,
        input: Sequence[Any],  # noqa: A002 -- the library's name
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Run `encode_batch_fast` outside the event loop."""
        given = input, is_pretokenized, add_special_tokens
        return await self._encode_many_async("async_encode_batch_fast", given, fast=True)

    async def _encode_many_async(
        self, name: str, given: tuple[Any, bool, bool], *, fast: bool
    ) -> list[Encoding]:
        found = await asyncio.to_thread(partial(self._native_batch, *given, fast=fast))
        if found is not None:
            return found
        return [
            Encoding(peer=row) for row in await asyncio.to_thread(self._ask_async, name, *given)
        ]

    def _ask_async(self, name: str, *given: Any) -> Any:
        """Run an asynchronous method of the library to its end.

        Its errors are not those of the plain method. The lock keeps the options of this call.
        """

        async def ask() -> Any:
            return await getattr(self._backend.synced_peer(), name)(*given)

        with self._backend.lock:
            return asyncio.run(ask())

    async def async_decode_batch(self, *args: Any, **kwargs: Any) -> list[str]:
        """Run `decode_batch` outside the event loop."""
        return await asyncio.to_thread(partial(self.decode_batch, *args, **kwargs))
