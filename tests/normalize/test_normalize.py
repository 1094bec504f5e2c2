"""core/normalize against the normalizers of `tokenizers`."""

from __future__ import annotations

import base64
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.normalize.charsmaps import build_charsmap
from tests.reference.normalize import build_normalizer, normalize

from tokenmill import _core
from tokenmill._compile.normalizer import serialize_normalizer
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._spec import NormalizerKind
from tokenmill._spec import NormalizerStep as Step

CHARACTER_KINDS: tuple[NormalizerKind, ...] = (
    "nfc",
    "nfd",
    "nfkc",
    "nfkd",
    "lowercase",
    "strip_accents",
)
CHARACTERS = [chr(c) for c in (*range(1, 0xD800), *range(0xE000, 0x110000))]
PROGRAMS: list[tuple[Step, ...]] = [
    *((Step(kind),) for kind in CHARACTER_KINDS),
    (Step("nfd"), Step("lowercase"), Step("strip_accents")),
    (Step("nfkc"), Step("lowercase"), Step("nfc")),
    (Step("strip", left=True, right=True),),
    (Step("strip", left=True), Step("prepend", a="\u2581"), Step("replace", a=" ", b="\u2581")),
    (Step("replace", a="aa", b="b"), Step("replace", a="\u0301", b=""), Step("nfc")),
    (),
]
# Characters that react with each other: letters, marks, jamo, syllables, compatibility forms.
LIVELY = (
    "aeikosAEIKOS \u00e2\u00e9\u0130\u03a3\u0345\u0327\u0323\u0301\u0302\u0307\u0308\u0338\u0344"
    "\u09c7\u09be\u09d7\u093c\u0928\u0e38\u0e48\u1100\u1161\u11a7\u11a8\uac00\uac01\u1e9b\u212a"
    "\u3000\u3099\u304b\uff76\uff9e\ufb01\ufdfa\u0340\U0001d15e\U00011099\U000110ba\U0002f800"
)


def rewrite(steps: tuple[Step, ...], text: str) -> str:
    result: bytes = _core.normalize(serialize_normalizer(steps), text.encode())
    return result.decode()


def is_normalized(steps: tuple[Step, ...], text: str) -> bool:
    return bool(_core.is_normalized(serialize_normalizer(steps), text.encode()))


@pytest.mark.parametrize("kind", CHARACTER_KINDS)
def test_every_character_becomes_what_the_reference_makes_of_it(kind: NormalizerKind) -> None:
    steps = (Step(kind),)
    text = "\0".join(CHARACTERS)
    assert rewrite(steps, text) == normalize(steps, text)


@pytest.mark.parametrize("kind", CHARACTER_KINDS[:4])
def test_every_mark_behind_letters_and_marks_is_ordered_and_composed(kind: NormalizerKind) -> None:
    steps = (Step(kind),)
    marks = [char for char in CHARACTERS if unicodedata.category(char)[0] == "M"]
    text = "\0".join(
        first + mark + last
        for mark in marks
        for first in ("", "a", "\u00e2", "\u09c7", "\u0334", "\u0301", "\u0345")
        for last in ("", "\u0323", "\u0345")
    )
    assert rewrite(steps, text) == normalize(steps, text)


@pytest.mark.parametrize("steps", PROGRAMS, ids=str)
def test_random_text_is_rewritten_like_the_reference(steps: tuple[Step, ...]) -> None:
    rng = random.Random(20261115)  # noqa: S311
    reference = build_normalizer(steps)
    for _ in range(3000):
        text = "".join(rng.choices(LIVELY, k=rng.randint(0, 12)))
        expected = reference.normalize_str(text)
        assert rewrite(steps, text) == expected, ascii(text)
        assert text == expected or not is_normalized(steps, text), ascii(text)


@given(text=st.text(max_size=40), number=st.integers(0, len(PROGRAMS) - 1))
def test_any_text_is_rewritten_like_the_reference(text: str, number: int) -> None:
    expected = normalize(PROGRAMS[number], text)
    assert rewrite(PROGRAMS[number], text) == expected
    assert text == expected or not is_normalized(PROGRAMS[number], text)


@pytest.mark.parametrize("kind", ["nfc", "nfd", "nfkc", "nfkd"])
@pytest.mark.parametrize("count", [1, 7, 8, 31, 32, 33, 63, 64, 65, 10_000])
def test_long_rows_of_marks_are_ordered(kind: NormalizerKind, count: int) -> None:
    steps = (Step(kind),)
    rng = random.Random(count)  # noqa: S311
    text = "x" * count + "".join(rng.choices("\u0301\u0323\u0334\u0345\u0308", k=count)) + "x"
    assert rewrite(steps, text) == normalize(steps, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("nfc", "plain ASCII, long enough for a block of sixty-four bytes and a little more"),
        ("nfc", "caf\u00e9 \u0e01\u0e38\u0e48 \u0995\u09be \ud55c\uad6d\uc5b4 \u65e5\u672c\u8a9e"),
        ("nfd", "e\u0323\u0301"),
        ("lowercase", "stra\u00dfe \u03c3\u03c2"),
        ("strip_accents", "caf\u00e9"),
        ("nfkc", ""),
    ],
)
def test_normalized_text_is_known_as_such(kind: NormalizerKind, text: str) -> None:
    assert is_normalized((Step(kind),), text)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("nfc", "cafe\u0301", "caf\u00e9"),
        ("nfc", "\u00e2\u0323", "\u1ead"),
        ("nfc", "\u1100\u1161\u11a8", "\uac01"),
        ("nfkc", "\uff76\uff9e", "\u30ac"),
        ("nfkc", "\u32ff", "\u32ff"),  # younger than the reference's tables
        ("lowercase", "\u0391\u03a3 \u0130", "\u03b1\u03c3 i\u0307"),
        ("strip_accents", "e\u0301", "e"),
    ],
)
def test_examples(kind: NormalizerKind, text: str, expected: str) -> None:
    steps = (Step(kind),)
    assert rewrite(steps, text) == expected
    assert rewrite(steps, text) == normalize(steps, text)


def test_prepend_leaves_empty_text_empty() -> None:
    steps = (Step("prepend", a="_"),)
    assert rewrite(steps, "") == ""
    assert rewrite(steps, " ") == "_ "


def test_replace_works_from_left_to_right_without_overlap() -> None:
    assert rewrite((Step("replace", a="aa", b="b"),), "aaaaa") == "bba"


@pytest.mark.parametrize(
    "program",
    [
        b"\x00",
        b"\x12",
        b"\x0f\x00\x00\x00\x00",
        b"\x0f\x03\x00\x00\x00\x04\x00\x00",
        b"\x0f\x08\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00",
        b"\x0f\x09\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\xff",
        b"\x10\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x10\x00\x00\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff",
        b"\x07",
        b"\x07\x04",
        b"\x08\x01\x00\x00\x00a",
        b"\x08\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x09\xff\xff\xff\xffa",
        b"\x09\x01\x00\x00\x00\x80",
        b"\x09\x03\x00\x00\x00\xed\xa0\x80",
        b"\x01\x09\x01",
    ],
    ids=lambda program: program.hex(),
)
def test_a_damaged_program_is_refused(program: bytes) -> None:
    with pytest.raises(ValueError, match="normalizer"):
        _core.normalize(program, b"text")


@pytest.mark.parametrize("place", range(60))
def test_a_damaged_pattern_is_refused_or_harmless(place: int) -> None:
    program = serialize_normalizer((Step("replace_regex", a=" {2,}|x+", b="_"),))
    for value in (0, 1, 0x7F, 0x80, 0xFF):
        damaged = program[: 9 + place] + bytes([value]) + program[10 + place :]
        try:
            result = _core.normalize(damaged, b"a  b xx ")
        except ValueError as error:
            assert "normalizer" in str(error)  # noqa: PT017
        else:
            assert result.decode()


def test_a_damaged_map_of_characters_gives_text_or_is_refused() -> None:
    blob = build_charsmap({b"a": "\u00e9b", b"bc": "\u4e2d", b"\xe4": ""})
    rng = random.Random(7)  # noqa: S311
    used = [place for place, byte in enumerate(blob) if byte]
    for _ in range(500):
        damaged = bytearray(blob)
        damaged[rng.choice(used)] = rng.randrange(256)
        content = base64.b64encode(damaged).decode()
        try:
            program = serialize_normalizer((Step("precompiled", a=content),))
            _core.normalize(program, "abc\u4e2da\u0301 a".encode()).decode()
        except ValueError as error:
            assert "normalizer" in str(error)  # noqa: PT017


def test_steps_that_cannot_be_exact_are_refused() -> None:
    with pytest.raises(UnsupportedTokenizer, match="empty literal"):
        serialize_normalizer((Step("replace", a="", b="x"),))
    with pytest.raises(UnsupportedTokenizer, match="no such kind"):
        serialize_normalizer((Step("nfx"),))  # type: ignore[arg-type]


def test_serialized_form() -> None:
    steps = (Step("nfc"), Step("strip", right=True), Step("replace", a=" ", b="\u2581"))
    assert serialize_normalizer(steps) == (
        b"\x01\x07\x02\x08\x01\x00\x00\x00 \x03\x00\x00\x00\xe2\x96\x81"
    )
