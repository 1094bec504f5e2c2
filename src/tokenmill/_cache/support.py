"""Which tokenizers the cache is exact for, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokenmill._core import Model

if TYPE_CHECKING:
    from tokenmill._tokenizer import Tokenizer


class Support(NamedTuple):
    """Whether segments are cached; `reason` says why not."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


def supported(tokenizer: Tokenizer) -> Support:
    """Tell whether the cache is used for a tokenizer.

    The native engine cuts added tokens out first and works on each text between them alone, so its
    segments are independent, whatever the tokenizer does. Of a library that runs in its place,
    nothing is known.
    """
    if isinstance(tokenizer.ready.model, Model):
        return Support(ok=True)
    return Support(
        ok=False,
        reason=f"{tokenizer.name}: a reference library encodes it, whose segments may depend on "
        "each other; describe() explains why it runs there",
    )
