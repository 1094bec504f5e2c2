"""Parts of a tokenizer that are imported and made at their first use.

To encode a text needs none of them, and a short job does no more: `import tokenmill` and `encode`
stay light.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tokenmill._core import encode_method, environment
from tokenmill._model.known import full_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._calls.encoded import EncodedBatch
    from tokenmill._decode.spelling import Spelling
    from tokenmill._model.ready import Ready
    from tokenmill._post.request import RowOptions
    from tokenmill._stats import RunStats
    from tokenmill._tokenizer.batches import Batches
    from tokenmill._tokenizer.budget import BudgetBatches
    from tokenmill._tokenizer.chat import Conversations
    from tokenmill._tokenizer.decoding import Decoding
    from tokenmill._tokenizer.trusted import TrustedParts

Method = TypeVar("Method", bound="Callable[..., object]")


def in_core(method: Method) -> Method:
    """Let the core run the plain calls of `encode`; the class needs a slot `_model`."""
    return cast("Method", encode_method(method))


def origin_of(source: object) -> object:
    """Return where to look for a chat template later: a full path or a hub id.

    An object that was loaded may change, so its template is taken now.
    """
    if (path := full_path(source)) is not None:
        return path
    if not hasattr(source, "chat_template"):
        return None
    from tokenmill._chat.source import read_chat_source

    return read_chat_source(source)


class Parts:
    """What encodes batches, what decodes, and what spells tokens."""

    def __init__(self, ready: Ready, origin: object = None) -> None:
        self._ready = ready
        self._origin = origin
        if environment("TOKENMILL_STATS_FILE"):
            from tokenmill._tokenizer.recording import record_calls  # for `tokenmill profile`

            record_calls(ready)

    @cached_property
    def batches(self) -> Batches:
        """Calls on many texts."""
        from tokenmill._tokenizer.batches import Batches

        return Batches(self._ready)

    def encode_counted(self, texts: object, **options: Any) -> TokenBatch | EncodedBatch:
        """Encode many texts with counters in the result."""
        from tokenmill._tokenizer.counting import encode_counted

        return encode_counted(self.batches, texts, **options)

    def stats(self) -> RunStats:
        """Return the counters of all calls of the model."""
        from tokenmill._tokenizer.counting import stats_since_load

        return stats_since_load(self._ready.model)

    def budget_batches(
        self, texts: Iterable[object], bounds: tuple[int, int | None, int, str], options: RowOptions
    ) -> BudgetBatches:
        """Return padded batches under a budget of tokens."""
        from tokenmill._tokenizer.budget import Budget, BudgetBatches, make_batches

        return BudgetBatches(make_batches(self._ready, texts, Budget.checked(*bounds), options))

    @cached_property
    def trusted(self) -> TrustedParts:
        """Calls on texts that are trusted in parts."""
        from tokenmill._tokenizer.trusted import TrustedParts

        return TrustedParts(self._ready)

    @cached_property
    def chat(self) -> Conversations:
        """Calls that need a chat template."""
        from tokenmill._tokenizer.chat import Conversations

        return Conversations(self._ready, self._origin, self.trusted)

    def chat_source(self) -> object:
        """Return what a pickled tokenizer finds its chat templates with.

        Those of a folder go with it; a hub id stays one, because a pickle must not download.
        """
        if self._origin is None:
            return None
        from tokenmill._chat.source import local_chat_source  # does not need jinja2

        known = self.chat.known_source if "chat" in self.__dict__ else None
        return known or local_chat_source(self._origin)

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
