"""The documents that are measured: read from files, or made of the package's own vocabulary."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tokenmill._errors import InputError
from tokenmill._read import ReadRules, deal_streams, find_field, find_inputs, open_stream, parse
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._read import Block

_SEED = 20_261_115
_WORDS_OF_A_DOCUMENT = (40, 800)
_WORDS_OF_A_SENTENCE = (4, 24)
_FLATTENING = 2.7  # Mandelbrot's: common words of real text are a little less common than 1 / rank


@dataclass(frozen=True)
class SampleTexts:
    """Texts, where they come from, and how many records were skipped, by reason."""

    texts: list[str]
    origin: str
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def size_bytes(self) -> int:
        """Bytes of all texts as UTF-8."""
        return sum(len(text.encode()) for text in self.texts)


def read_documents(sources: Sequence[str], number: int, rules: ReadRules) -> SampleTexts:
    """Return the first `number` documents of files, folders and globs; fewer if there are fewer."""
    texts: list[str] = []
    skipped: Counter[str] = Counter()
    for block in _blocks(sources, rules):
        skipped.update(record.reason for record in block.bad)
        texts += _texts_of(block)
        if len(texts) >= number:
            break
    if not texts:
        raise InputError(
            f"no document in {len(sources)} input(s)",
            path=", ".join(sources),
            hint="--field names the field that holds the text",
        )
    return SampleTexts(texts[:number], ", ".join(sources), skipped)


def _blocks(sources: Sequence[str], rules: ReadRules) -> Iterator[Block]:
    files = find_inputs(sources).files
    fields = [find_field([file], rules) for file in files]
    for stream in deal_streams(files, rules):
        reader = open_stream(stream, files, rules, fields)
        try:
            while (raw := reader.read()) is not None:
                yield parse(raw, rules, fields)
        finally:
            reader.close()


def _texts_of(block: Block) -> list[str]:
    text = block.text.tobytes()
    ends = block.offsets.tolist()
    return [text[begin:end].decode() for begin, end in pairwise(ends)]


def make_documents(number: int) -> SampleTexts:
    """Make documents of words of the package's tokenizer, the same ones every time.

    Words are drawn as often as words of real text are (Zipf's law), so that tables of words help
    as much as they do there; but it is not a language, and real text is better.
    """
    words = _words()
    weights = list(accumulate(1 / (rank + _FLATTENING) for rank in range(1, len(words) + 1)))
    chance = random.Random(_SEED)  # noqa: S311 -- test data, not a secret
    texts = [_document(words, weights, chance) for _ in range(number)]
    return SampleTexts(texts, "made of words of the package's vocabulary")


def _words() -> list[str]:
    """Return the words of the package's tokenizer that follow a space, the common ones first."""
    tokenizer = Tokenizer.load()
    tokens = (tokenizer.token_bytes(number) for number in range(tokenizer.vocab_size))
    return [t[1:].decode() for t in tokens if t[:1] == b" " and t[1:].isalpha()]


def _document(words: list[str], weights: list[float], chance: random.Random) -> str:
    left = chance.randint(*_WORDS_OF_A_DOCUMENT)
    sentences = []
    while left > 0:
        length = chance.randint(*_WORDS_OF_A_SENTENCE)
        chosen = chance.choices(words, cum_weights=weights, k=length)
        sentences.append(" ".join(chosen).capitalize() + ".")
        left -= length
    return " ".join(sentences)
