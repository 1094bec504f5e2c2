"""Parts of a tokenizer that are made at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._decode import Decoder
    from tokenmill._decode.spelling import Spelling
    from tokenmill._tokenizer.tokenizer import Tokenizer


def make_part(name: str, tokenizer: Tokenizer) -> Decoder | Spelling:
    """Make what decodes, or what spells tokens; AttributeError for any other name."""
    ready = tokenizer.ready
    if name == "_decoder":
        from tokenmill._decode import make_decoder

        return make_decoder(ready)
    if name == "_spelling":
        from tokenmill._decode.spelling import Spelling

        return Spelling(ready.model, ready.meta, tokenizer._decoder)  # noqa: SLF001
    raise AttributeError(f"{type(tokenizer).__name__!r} object has no attribute {name!r}")
