"""A whole tokenizer from its `TokenizerSpec`, slow and obvious.

Normalizing and splitting are left to the real engines, everything else is spelled out here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import regex
from tests.reference.added_tokens import extract
from tests.reference.bpe import ReferenceBpe
from tests.reference.normalize import build_normalizer
from tokenizers import Regex, pre_tokenizers

from tokenmill._load.byte_level import ALPHABET
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from tests.reference.added_tokens import SpecialInText

    from tokenmill._spec import SplitStep, TokenizerSpec


class SpecEncoder:
    """Text to ids in the order that `TokenizerSpec` describes."""

    def __init__(self, spec: TokenizerSpec) -> None:
        assert isinstance(spec.model, BpeModel)
        self.spec = spec
        self._bpe = ReferenceBpe(spec.model)
        self._normalizer = build_normalizer(spec.normalizer) if spec.normalizer else None

    def encode(
        self,
        text: str,
        *,
        special_in_text: SpecialInText = "encode",
        add_special_tokens: bool = False,
    ) -> list[int]:
        ids: list[int] = []
        for piece in extract(text, self.spec.added_tokens, self._normalize, special_in_text):
            if piece.id is not None:
                ids.append(piece.id)
                continue
            for word in self.words(piece.text):
                ids += self._bpe(word)
        if add_special_tokens:
            return [*self.spec.prefix_ids, *ids, *self.spec.suffix_ids]
        return ids

    def decode(self, ids: list[int]) -> str:
        assert isinstance(self.spec.model, BpeModel)
        table = self.spec.model.decode_bytes
        return b"".join(table[i] or b"" for i in ids).decode(errors="replace")

    def words(self, text: str) -> list[bytes]:
        """Split one normalized range between added tokens."""
        if self.spec.add_prefix_space and not text.startswith(" "):
            text = f" {text}"
        words = [text]
        for step in self.spec.split:
            if step.on_bytes:
                break
            words = [part for word in words for part in split_by(step, word)]
        # From here on a word is one stand-in character for every byte.
        spelled = ["".join(ALPHABET[byte] for byte in word.encode()) for word in words]
        for step in self.spec.split:
            if step.on_bytes:
                spelled = [part for word in spelled for part in split_by(step, word)]
        return [bytes(ALPHABET.index(character) for character in word) for word in spelled]

    def _normalize(self, text: str) -> str:
        return text if self._normalizer is None else str(self._normalizer.normalize_str(text))


def split_by(step: SplitStep, text: str) -> list[str]:
    """One step, by the engine it names."""
    if step.dialect == "fancy":
        assert (step.behavior, step.invert) == ("removed", True)
        return [match.group() for match in _python_regex(step.pattern).finditer(text)]
    return [word for word, _ in _pre_tokenizer(step).pre_tokenize_str(text)]


@cache
def _pre_tokenizer(step: SplitStep) -> pre_tokenizers.PreTokenizer:
    if step.pattern == r"\p{hf:Numeric}":
        return pre_tokenizers.Digits(individual_digits=step.behavior == "isolated")
    if step.pattern == r"\p{hf:Punctuation}":
        return pre_tokenizers.Punctuation(behavior=step.behavior)
    return pre_tokenizers.Split(Regex(step.pattern), step.behavior, step.invert)


@cache
def _python_regex(pattern: str) -> regex.Pattern[str]:
    # `$` is the very end of the text in Rust; Python's also accepts the place before a last \n.
    return regex.compile(pattern.replace("$", r"\Z"), regex.V1)
