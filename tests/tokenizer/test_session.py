"""Sessions of `Tokenizer`: the reference path, options, and conversations that grow."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.strategies import EXAMPLES
from tests.tokenizer.test_paths import NOT_REGULAR, write
from tests.vocabularies import NAMES, spec

from tokenmill import (
    Appended,
    InvalidUtf8,
    OptionError,
    ReferencePathWarning,
    Session,
    TextTooLong,
    Tokenizer,
)
from tokenmill._compile import compile_spec
from tokenmill._model.ready import from_payload

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = [text for text in EXAMPLES if text.strip()]


@pytest.fixture(scope="module")
def referred(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path: Path = write(tmp_path_factory.mktemp("slow"), NOT_REGULAR)
    with pytest.warns(ReferencePathWarning):
        return Tokenizer.load(path)


def check(session: Session, change: Appended, ids: list[int], wanted: Any) -> list[int]:
    """Put the ids together as a caller does."""
    ids = ids[: change.keep] + change.ids.tolist()
    assert ids == session.ids.tolist() == wanted.tolist()
    assert session.n_ids == len(ids)
    return ids


@pytest.mark.parametrize("add", [False, True])
def test_a_session_on_the_reference_path_is_exact_and_says_so(
    referred: Tokenizer, add: bool
) -> None:
    session = referred.session(add_special_tokens=add)
    assert not session.incremental
    assert "reference library" in session.reason
    ids, text = session.ids.tolist(), ""
    for part in SAMPLES:
        text += part
        ids = check(
            session, session.append(part), ids, referred.encode(text, add_special_tokens=add)
        )
    other = session.fork()
    change = session.replace_tail(7, "end")
    check(session, change, ids, referred.encode(text[:-7] + "end", add_special_tokens=add))
    assert other.text_bytes == text.encode()


@pytest.mark.parametrize("name", ["referred", "small"])
def test_both_paths_take_bytes_in_parts_and_refuse_alike(
    request: pytest.FixtureRequest, name: str
) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(name)
    session = tokenizer.session(max_bytes=20)
    assert session.append(b"ab\xf0\x9f").keep == 0
    assert (session.n_bytes, session.n_pending) == (4, 2)
    session.append(b"\x98\x80")
    assert session.ids.tolist() == tokenizer.encode("ab\U0001f600").tolist()
    with pytest.raises(InvalidUtf8):
        session.append(b"\xff")
    with pytest.raises(TextTooLong, match="would have 21 bytes, at most 20 are allowed") as caught:
        session.append("123456789012345")
    assert (caught.value.size, caught.value.limit) == (21, 20)
    session.replace_tail(1, b"", unit="byte")
    assert session.n_pending == 3
    session.replace_tail(2, "x")
    assert session.text_bytes == b"ax"
    with pytest.raises(OptionError, match="at most 2 characters, got 3"):
        session.replace_tail(3, "")
    replacing = tokenizer.session(errors="replace")
    for part in (b"a\xf0\x9f", b"\x98", b"x\xff"):
        replacing.append(part)
    wanted = b"a\xf0\x9f\x98x\xff".decode(errors="replace")
    assert replacing.ids.tolist() == tokenizer.encode(wanted).tolist()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"special_in_text": "no"}, "special_in_text"),
        ({"errors": "no"}, "errors"),
        ({"max_bytes": 0}, "max_bytes"),
    ],
)
def test_options_are_checked(small: Tokenizer, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        small.session(**options)


def test_arguments_are_checked(small: Tokenizer) -> None:
    session = small.session()
    wrong: Any = "x"
    with pytest.raises(OptionError, match="n: expected a whole number"):
        session.replace_tail(-1, "")
    with pytest.raises(OptionError, match="unit: expected one of"):
        session.replace_tail(0, "", unit=wrong)
    with pytest.raises(OptionError, match="timeout: expected seconds"):
        session.append("", timeout=wrong)
    assert repr(session) == "Session(0 bytes, 0 ids)"


def test_special_tokens_of_the_text_follow_the_option(small: Tokenizer) -> None:
    session = small.session(special_in_text="text")
    session.append("a <")
    session.append("s> b")
    assert session.ids.tolist() == small.encode("a <s> b", special_in_text="text").tolist()


def conversation(choose: random.Random, special: list[str]) -> list[str]:
    """Turns of a chat, each written as a model would write it."""
    parts: list[str] = []
    for _ in range(choose.randrange(2, 8)):
        parts.append(choose.choice(special) + choose.choice(["user", "assistant"]) + "\n")
        text = " ".join(choose.choices(SAMPLES, k=choose.randrange(1, 4)))
        while text:
            size = choose.choice((1, 2, 3, 4, 6, 30, 300))
            parts.append(text[:size])
            text = text[size:]
        parts.append(choose.choice(special))
    return parts


def grow_conversations(tokenizer: Tokenizer, count: int, seed: int) -> None:
    special = [*tokenizer.ready.meta["added_tokens"]][:300] or ["<s>"]
    choose = random.Random(seed)  # noqa: S311
    for turn in range(count):
        add = turn % 2 == 0
        session = tokenizer.session(add_special_tokens=add)
        assert session.incremental
        ids, text = session.ids.tolist(), ""
        for part in conversation(choose, special):
            text += part
            change = session.append(part)
            ids = ids[: change.keep] + change.ids.tolist()
            assert ids == tokenizer.encode(text, add_special_tokens=add).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_conversations_of_genuine_tokenizers(name: str) -> None:
    grow_conversations(Tokenizer(from_payload(compile_spec(spec(name)))), 2, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_conversations_of_genuine_tokenizers(name: str) -> None:
    grow_conversations(Tokenizer(from_payload(compile_spec(spec(name)))), 1000 // len(NAMES) + 1, 2)
