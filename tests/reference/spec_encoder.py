"""A whole tokenizer from its `TokenizerSpec`, slow and obvious.

Normalizing and splitting are left to the real engines, everything else is spelled out here.

Metaspace as in `tokenizers` (0.23), established by probing:

* It works on each word that the steps before it have made, a whole range between added tokens if
  there are none. Every U+0020 (no other white space) becomes `replacement`.
* Then `replacement` is put in front of a word that does not begin with it: of every word
  ("always"), or of the one that begins where the *text* begins ("first"): not of the range after
  an added token, nor of words after white space that a split has removed. So a text that begins
  with a blank gets no second one, and one that begins with an added token gets none under "first".
* With `split`, each `replacement` begins a new word, so a run of n of them is n - 1 words of one
  and one that goes with what follows. Without, the word stays whole.
* Later steps see the words so made.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import regex
from tests.reference.added_tokens import extract
from tests.reference.bpe import ReferenceBpe
from tests.reference.normalize import build_normalizer
from tests.reference.unigram import ReferenceUnigram
from tests.reference.wordpiece import ReferenceWordLevel, ReferenceWordPiece
from tokenizers import Regex, pre_tokenizers

from tokenmill._load.byte_level import ALPHABET
from tokenmill._spec import BpeModel, UnigramModel, WordLevelModel, WordPieceModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.reference.added_tokens import Range, SpecialInText
    from tokenizers.normalizers import Normalizer

    from tokenmill._spec import Metaspace, SplitStep, TokenizerSpec


class SpecEncoder:
    """Text to ids in the order that `TokenizerSpec` describes.

    `normalizer` stands in for steps that the spec does not have.
    """

    def __init__(self, spec: TokenizerSpec, normalizer: Normalizer | None = None) -> None:
        self.spec = spec
        self._model = reference_model(spec)
        if normalizer is None and spec.normalizer:
            normalizer = build_normalizer(spec.normalizer)
        self._normalizer = normalizer

    def encode(
        self,
        text: str,
        *,
        special_in_text: SpecialInText = "encode",
        add_special_tokens: bool = False,
    ) -> list[int]:
        pieces = extract(text, self.spec.added_tokens, self.normalize, special_in_text)
        ids = self.encode_pieces(pieces)
        if add_special_tokens:
            return [*self.spec.prefix_ids, *ids, *self.spec.suffix_ids]
        return ids

    def encode_pieces(self, pieces: Sequence[Range]) -> list[int]:
        """Added tokens and the text between them."""
        ids: list[int] = []
        for index, piece in enumerate(pieces):
            if piece.id is not None:
                ids.append(piece.id)
                continue
            for word in self.words(piece.text, at_begin=index == 0):
                ids += self._model(word)
        return ids

    def decode(self, ids: list[int]) -> str:
        assert isinstance(self.spec.model, BpeModel)
        table = self.spec.model.decode_bytes
        return b"".join(table[i] or b"" for i in ids).decode(errors="replace")

    def words(self, text: str, *, at_begin: bool = True) -> list[bytes]:
        """Split one normalized range between added tokens."""
        if self.spec.add_prefix_space and not text.startswith(" "):
            text = f" {text}"
        plain = [step for step in self.spec.split if not step.on_bytes]
        space = self.spec.metaspace
        after = len(plain) if space is None else space.after
        words = _split(plain[:after], [text])
        if space is not None:
            # Text that a step removed is not a word, and the word after it is not the first.
            begins = at_begin and bool(words) and text.startswith(words[0])
            words = [
                part
                for index, word in enumerate(words)
                for part in spaced(space, word, is_first=begins and index == 0)
            ]
        words = _split(plain[after:], words)
        # From here on a word is one stand-in character for every byte.
        spelled = ["".join(ALPHABET[byte] for byte in word.encode()) for word in words]
        spelled = _split([step for step in self.spec.split if step.on_bytes], spelled)
        return [bytes(ALPHABET.index(character) for character in word) for word in spelled]

    def normalize(self, text: str) -> str:
        return text if self._normalizer is None else str(self._normalizer.normalize_str(text))


def reference_model(spec: TokenizerSpec) -> Callable[[bytes], list[int]]:
    """What turns one word into ids."""
    match spec.model:
        case BpeModel():
            return ReferenceBpe(spec.model)
        case WordPieceModel():
            return ReferenceWordPiece(spec.model)
        case UnigramModel():
            return ReferenceUnigram(spec.model)
        case WordLevelModel():
            return ReferenceWordLevel(spec.model)
    message = f"no reference for {type(spec.model).__name__}"
    raise TypeError(message)


def spaced(space: Metaspace, word: str, *, is_first: bool) -> list[str]:
    """One word through Metaspace."""
    word = word.replace(" ", space.replacement)
    wanted = space.prepend == "always" or (space.prepend == "first" and is_first)
    if wanted and not word.startswith(space.replacement):
        word = space.replacement + word
    if not space.split:
        return [word]
    begins = [i for i, c in enumerate(word) if c == space.replacement and i]
    return [word[i:j] for i, j in pairwise([0, *begins, len(word)])]


def _split(steps: list[SplitStep], words: list[str]) -> list[str]:
    for step in steps:
        words = [part for word in words for part in split_by(step, word)]
    return words


def split_by(step: SplitStep, text: str) -> list[str]:
    """One step, by the engine it names."""
    if step.dialect == "fancy":
        assert (step.behavior, step.invert) == ("removed", True)
        return [match.group() for match in _python_regex(step.pattern).finditer(text)]
    return [word for word, _ in _pre_tokenizer(step).pre_tokenize_str(text)]


# Patterns with sets of the library itself are read by the pre-tokenizers they stand for.
_WORD_SETS = 2
_BY_SET = {True: pre_tokenizers.Whitespace, False: pre_tokenizers.UnicodeScripts}


@cache
def _pre_tokenizer(step: SplitStep) -> pre_tokenizers.PreTokenizer:
    if step.pattern == r"\p{hf:Numeric}":
        return pre_tokenizers.Digits(individual_digits=step.behavior == "isolated")
    if step.pattern == r"\p{hf:Punctuation}":
        return pre_tokenizers.Punctuation(behavior=step.behavior)
    if "hf:" in step.pattern:
        return _BY_SET[step.pattern.count("hf:") == _WORD_SETS]()
    return pre_tokenizers.Split(Regex(step.pattern), step.behavior, step.invert)


@cache
def _python_regex(pattern: str) -> regex.Pattern[str]:
    # `$` is the very end of the text in Rust; Python's also accepts the place before a last \n.
    return regex.compile(pattern.replace("$", r"\Z"), regex.V1)
