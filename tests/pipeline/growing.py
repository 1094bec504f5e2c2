"""Texts that grow in pieces: every change of a session is compared with the whole text."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.offsets.tokenizers_of_every_kind import HOSTILE
from tests.strategies import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

BLANKS = [" ", "  ", "\n", "\n\n", "\t", "\r\n", " \u0301", "\u3000"]
WORDS = [
    "a", " the", " dog", "I am", " foo bar", "'s", "'", "123", " 45", ". ", ", ", "``", "''", "e",
    "\u4f60\u597d\u3002", "\uff0c", "\u0301", "=\u0338", "\uac00", "\u11a8", " \u2581 ", "<", "|",
    ">", "_",
]  # fmt: skip
SIZES = (1, 1, 1, 2, 3, 5, 9, 17, 40, 100)


class Grown:
    """A session, the text that it should have, and the ids that a caller has put together."""

    def __init__(self, model: Any, add_special_tokens: bool = False, session: Any = None) -> None:
        from tokenmill import _core

        self.model = model
        self.add = add_special_tokens
        self.session = session or _core.Session(model, add_special_tokens, small_steps=True)
        self.text = ""
        self.ids = self.session.ids.tolist()
        self.check("")

    def append(self, part: str) -> None:
        self.take(self.session.append(part), self.text + part)

    def replace_tail(self, n: int, part: str) -> None:
        self.take(self.session.replace_tail(n, part), self.text[: len(self.text) - n] + part)

    def take(self, change: tuple[int, Any], text: str) -> None:
        keep, new = change
        before, self.ids = self.ids, self.ids[:keep] + new.tolist()
        # What stays is as long as it can be.
        same = [a == b for a, b in zip(before, self.ids, strict=False)]
        assert keep == (same.index(False) if False in same else len(same))
        self.text = text
        self.check(text)

    def fork(self) -> Grown:
        other = Grown.__new__(Grown)
        other.__dict__ = {**self.__dict__, "session": self.session.fork()}
        return other

    def check(self, text: str) -> None:
        wanted = self.model.encode(text, self.add).tolist()
        assert self.ids == wanted, text[-200:]
        assert self.session.ids.tolist() == wanted
        assert self.session.text_bytes == text.encode()


def pieces_of(added_tokens: Sequence[str], choose: random.Random) -> list[str]:
    """What hostile texts are made of, some added tokens among them."""
    some = choose.sample(list(added_tokens), min(12, len(added_tokens)))
    return [*HOSTILE, *EXAMPLES, *BLANKS, *WORDS, *some, *(f" {token}" for token in some[:4])]


def cut_at_random(text: str, choose: random.Random) -> list[str]:
    """Cut a text into pieces of a few characters."""
    parts = []
    while text:
        size = choose.choice(SIZES)
        parts.append(text[:size])
        text = text[size:]
    return parts


def grow_at_random(model: Any, added_tokens: Sequence[str], rounds: int, seed: int) -> None:
    """Let texts grow, shrink and fork; every change is checked."""
    choose = random.Random(seed)  # noqa: S311
    for turn in range(rounds):
        pieces = pieces_of(added_tokens, choose)
        text = "".join(choose.choices(pieces, k=choose.randrange(1, 40)))
        grown = Grown(model, add_special_tokens=turn % 2 == 1)
        for part in cut_at_random(text, choose):
            if choose.random() < 0.1:
                other = grown.fork()
                grown.replace_tail(choose.randrange(min(len(grown.text), 200) + 1), part)
                other.append("x y")
            else:
                grown.append(part)
