"""From tokens to characters and words, and back, with the answers of `tokenizers.Encoding`."""

from __future__ import annotations

from typing import NamedTuple


class TokenPlaces(NamedTuple):
    """Where the tokens of one row are in their texts.

    `words`: the number of each token's word in its text; None for special tokens around texts.
    `texts`: the text that each token belongs to; `ranges`: the first token and the end of a text.
    """

    offsets: list[tuple[int, int]]
    words: list[int | None]
    texts: list[int | None]
    ranges: dict[int, tuple[int, int]]

    def range_of(self, text: int) -> tuple[int, int]:
        """Return the tokens of a text; all tokens if the row has no such text."""
        return self.ranges.get(text, (0, len(self.offsets)))

    def token_to_sequence(self, token: int) -> int | None:
        """Return the text that a token belongs to."""
        return self.texts[token]

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """Return the characters of a token."""
        return None if self.texts[token] is None else self.offsets[token]

    def token_to_word(self, token: int) -> int | None:
        """Return the word of a token."""
        return None if self.texts[token] is None else self.words[token]

    def char_to_token(self, char: int, text: int = 0) -> int | None:
        """Return the first token that holds a character."""
        begin, end = self.range_of(text)
        tokens = range(begin, end)
        return next((t for t in tokens if self.offsets[t][0] <= char < self.offsets[t][1]), None)

    def char_to_word(self, char: int, text: int = 0) -> int | None:
        """Return the word that holds a character."""
        token = self.char_to_token(char, text)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word: int, text: int = 0) -> tuple[int, int] | None:
        """Return the first token of a word and the end of its tokens."""
        found = []
        for token in range(*self.range_of(text)):
            number = self.words[token]
            if number is not None and number > word:
                break
            if number == word:
                found.append(token)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, text: int = 0) -> tuple[int, int] | None:
        """Return the characters of a word."""
        tokens = self.word_to_tokens(word, text)
        if tokens is None:
            return None
        return self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1]
