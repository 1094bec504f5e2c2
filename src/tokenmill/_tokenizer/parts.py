"""Parts of a tokenizer that are imported and made at their first use.

To encode a text needs none of them, and a short job does no more: `import tokenmill` and `encode`
stay light.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from tokenmill._core import encode_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._decode.spelling import Spelling
    from tokenmill._model.ready import Ready
    from tokenmill._tokenizer.batches import Batches
    from tokenmill._tokenizer.decoding import Decoding
    from tokenmill._tokenizer.trusted import TrustedParts

Method = TypeVar("Method", bound="Callable[..., object]")


def in_core(method: Method) -> Method:
    """Let the core run the plain calls of `encode`; the class needs a slot `_model`."""
    return cast("Method", encode_method(method))


class Parts:
    """What encodes batches, what decodes, and what spells tokens."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    @cached_property
    def batches(self) -> Batches:
        """Calls on many texts."""
        from tokenmill._tokenizer.batches import Batches

        return Batches(self._ready)

    @cached_property
    def trusted(self) -> TrustedParts:
        """Calls on texts that are trusted in parts."""
        from tokenmill._tokenizer.trusted import TrustedParts

        return TrustedParts(self._ready)

    @cached_property
    def decoding(self) -> Decoding:
        """Calls that turn ids into text."""
        from tokenmill._tokenizer.decoding import Decoding

        return Decoding(self._ready)

    @cached_property
    def spelling(self) -> Spelling:
        """What turns single tokens into ids and back."""
        from tokenmill._decode.spelling import Spelling

        return Spelling(self._ready.model, self._ready.meta, self.decoding.decoder)
