"""Parts of a tokenizer that are made at their first use: to encode needs none of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from tokenmill._core import encode_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._decode import Decoder
    from tokenmill._decode.spelling import Spelling
    from tokenmill._model.resolve import Ready

Method = TypeVar("Method", bound="Callable[..., object]")


def in_core(method: Method) -> Method:
    """Let the core run the plain calls of `encode`; the class needs a slot `_model`."""
    return cast("Method", encode_method(method))


class Parts:
    """What decodes, and what spells tokens."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    @cached_property
    def decoder(self) -> Decoder:
        """What turns ids into text."""
        from tokenmill._decode import make_decoder

        return make_decoder(self._ready)

    @cached_property
    def spelling(self) -> Spelling:
        """What turns single tokens into ids and back."""
        from tokenmill._decode.spelling import Spelling

        return Spelling(self._ready.model, self._ready.meta, self.decoder)
