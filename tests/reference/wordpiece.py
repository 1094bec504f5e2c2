"""WordPiece and WordLevel, slow and obvious: the answers that core/encode must give."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._spec import WordLevelModel, WordPieceModel


class ReferenceWordPiece:
    """Words to ids, as `tokenizers` (0.23) does it, established by probing.

    * A word of more than `max_characters` code points (not bytes, not graphemes; combining marks
      count) is the unknown token. At exactly that number it is still looked at.
    * Else the longest token that the word begins with is taken, then the longest of which the
      rest begins with `prefix` + it, and so on. The first piece is looked up as it is: a word
      "##a" may begin with the token "##a", and the second piece of "x##a" is looked up as "####a".
    * If at any place nothing fits, the *whole word* is one unknown token, whatever was found
      before. There is no going back to a shorter piece.
    * An empty word has no ids. The text "[UNK]" in a word is a token like any other.
    """

    def __init__(self, model: WordPieceModel) -> None:
        self._model = model
        self._ids = {token: i for i, token in enumerate(model.tokens) if token is not None}
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, word: bytes) -> list[int]:
        if word not in self._cache:
            self._cache[word] = self._encode(word.decode())
        return self._cache[word]

    def _encode(self, word: str) -> list[int]:
        if len(word) > self._model.max_characters:
            return [self._model.unk_id]
        row: list[int] = []
        begin = 0
        while begin < len(word):
            prefix = self._model.prefix if begin else b""
            for end in range(len(word), begin, -1):
                token_id = self._ids.get(prefix + word[begin:end].encode())
                if token_id is not None:
                    row.append(token_id)
                    begin = end
                    break
            else:
                return [self._model.unk_id]
        return row


class ReferenceWordLevel:
    """A word is its token, else the unknown token; each unknown word is one of its own."""

    def __init__(self, model: WordLevelModel) -> None:
        self._model = model
        self._ids = {token: i for i, token in enumerate(model.tokens) if token is not None}

    def __call__(self, word: bytes) -> list[int]:
        token_id = self._ids.get(word, self._model.unk_id)
        return [] if token_id is None or not word else [token_id]
