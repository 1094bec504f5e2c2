"""The clean-up of English spacing, as data: which text is replaced by which, in this order."""

from __future__ import annotations

_PUNCTUATION = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"))
_ENDINGS = ((" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))
_NOT = ((" n't", "n't"), (" 'm", "'m"))

# What the decoders WordPiece and CTC do to every token.
TOKEN_CLEAN_UP = (*_PUNCTUATION, *_NOT, (" do not", " don't"), *_ENDINGS)
# What `clean_up_tokenization_spaces` does to the whole text.
TEXT_CLEAN_UP = (*_PUNCTUATION, *_NOT, *_ENDINGS)


def replace_all(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """Apply the pairs in order; most texts hold no blank before punctuation."""
    if " " not in text:
        return text
    for old, new in pairs:
        text = text.replace(old, new)
    return text
