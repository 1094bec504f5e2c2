"""`MarkedText` does what a str does, and every character keeps its trust."""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill._chat.marked import MarkedText, join_marked, parts_of, trusted_text

if TYPE_CHECKING:
    from collections.abc import Callable

# Trusted characters are upper case, others lower case: the text shows what trust should be.
LETTERS = "abAB xX  \n\r,"


def marked(text: str) -> MarkedText:
    return join_marked([trusted_text(c) if c.isupper() else c for c in text])


def flags(text: str) -> list[bool]:
    return [flag for part, flag in parts_of(text) for _ in part]


OPERATIONS: dict[str, Callable[[Any, Any, int], Any]] = {
    "add": lambda s, t, n: s + t,
    "add plain": lambda s, t, n: s + "ab",
    "radd": lambda s, t, n: "ab" + s,
    "multiply": lambda s, t, n: s * (n % 3),
    "rmultiply": lambda s, t, n: (n % 3) * s,
    "slice": lambda s, t, n: s[n : n + 5],
    "negative slice": lambda s, t, n: s[-n:-1],
    "step": lambda s, t, n: s[::2],
    "index": lambda s, t, n: s[n % max(1, len(s)) - 1] if s else "",
    "strip": lambda s, t, n: s.strip(),
    "strip characters": lambda s, t, n: s.strip("aA"),
    "lstrip": lambda s, t, n: s.lstrip(" x"),
    "rstrip": lambda s, t, n: s.rstrip(),
    "join": lambda s, t, n: s.join([t, "a", s]),
    "split": lambda s, t, n: s.split(),
    "split once": lambda s, t, n: s.split(None, 1),
    "split at": lambda s, t, n: s.split(t[:2] or "ab", n - 2),
    "split at A": lambda s, t, n: s.split("A"),
    "rsplit": lambda s, t, n: s.rsplit(None, n),
    "rsplit at": lambda s, t, n: s.rsplit("a", n),
    "splitlines": lambda s, t, n: s.splitlines(n % 2 == 0),
    "partition": lambda s, t, n: s.partition("A"),
    "rpartition": lambda s, t, n: s.rpartition(" "),
    "replace": lambda s, t, n: s.replace("A", t),
    "replace some": lambda s, t, n: s.replace("a", t, n - 1),
    "replace nothing": lambda s, t, n: s.replace("", t),
    "removeprefix": lambda s, t, n: s.removeprefix(t[:1]),
    "removesuffix": lambda s, t, n: s.removesuffix(t[:1]),
    "text": lambda s, t, n: str(s),
    "format": lambda s, t, n: f"{s}{t}",
    "percent": lambda s, t, n: "%s" % s,  # noqa: UP031
    "center": lambda s, t, n: s.center(n),
    "pickle": lambda s, t, n: pickle.loads(pickle.dumps(s)),  # noqa: S301
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_they_give_for_str_and_keep_the_trust(name: str) -> None:
    run = OPERATIONS[name]
    rng = random.Random(1)  # noqa: S311
    for _ in range(500):
        first, second = ("".join(rng.choices(LETTERS, k=rng.randint(0, 9))) for _ in range(2))
        n = rng.randint(0, 6)
        got, expected = run(marked(first), marked(second), n), run(first, second, n)
        assert got == expected
        for text in got if isinstance(got, list | tuple) else [got]:
            trusted = [c for c, flag in zip(text, flags(text), strict=True) if flag]
            assert all(c.isupper() for c in trusted), (first, second, n)


def test_constants_keep_their_trust_where_templates_need_it() -> None:
    """Lost trust is safe, but a template would lose its control tokens."""
    for name in ("add", "slice", "strip", "join", "split at", "split", "replace", "index", "text"):
        run = OPERATIONS[name]
        got = run(marked("ABABXaAB"), marked("XXB"), 2)
        for text in got if isinstance(got, list | tuple) else [got]:
            assert flags(text) == [c.isupper() for c in text], name


def test_a_text_made_of_another_is_trusted_nowhere() -> None:
    assert flags(MarkedText(trusted_text("AB"))) == [False, False]
    assert flags(trusted_text("AB").lower()) == [False, False]
    assert flags("%s!" % trusted_text("AB")) == [False] * 3  # noqa: UP031


def test_a_text_is_as_good_as_a_str() -> None:
    text = trusted_text("AB")
    assert text == "AB"
    assert hash(text) == hash("AB")
    assert {"AB": 1}[text] == 1
    assert parts_of(marked("abAB")) == [("ab", False), ("AB", True)]
    assert parts_of("") == parts_of(MarkedText("")) == []
    with pytest.raises(IndexError):
        text[5]
    with pytest.raises(TypeError):
        text + 1  # type: ignore[operator]
