"""Every normalizer of a tokenizer.json, read, compiled and run, against `tokenizers`."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.normalize.charsmaps import encoded
from tokenizers import Tokenizer

from tokenmill import _core
from tokenmill._compile.normalizer import serialize_normalizer
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.normalizer import read_normalizer
from tokenmill._spec import NormalizerStep as Step

Section = dict[str, Any]

# All but the planes that are empty or private, of which the ends are enough.
ASSIGNED = (
    range(0xD800), range(0xE000, 0x33480), range(0xE0000, 0xE1010), range(0xEFFF0, 0xF0010),
    range(0x10FFF0, 0x110000),
)  # fmt: skip
CHARACTERS = [chr(point) for points in ASSIGNED for point in points]
# Marks, jamo, clusters of every kind, controls, white space, what the parts remove or replace.
LIVELY = [
    *"aeikosAEIKOS  ``''xyz0123\0\x01\t\n\r\x0b\x0c\x1c\x7f\x85\x8f\x9f\xa0\xad\u00a9\u00bd\u00e2",
    *"\u00e9\u0130\u03a3\u0345\u0327\u0323\u0301\u0302\u0307\u0308\u0338\u0344\u09c7\u09be\u09d7",
    *"\u093c\u0928\u0e38\u0e48\u1100\u1161\u11a7\u11a8\uac00\uac01\u1e9b\u212a\u3000\u3099\u304b",
    *"\uff76\uff9e\ufb01\ufdfa\u0340\u0600\u06dd\u0915\u094d\u0937\u200b\u200c\u200d\u2028\u2060",
    *"\u2460\u2581\ufeff\ufffd\ufffe\ud7ff\ue000\ufe0f\u4e2d\u6587\u0e01\u0e33\u3300\u0f73\u0d4e",
    *"\U0001f600\U0001f468\U0001f3fd\U0001f1e9\U0001f1ea\U0001d15e\U00011099\U000110ba\U0002f800",
    *"\U000e0001\U000e0061\U0010ffff",
    *("\r\n", "``", "''", "   ", "e\u0301", "\u0915\u094d\u0937\u0300", "\u00a9\u200d\u00a9\u0300"),
]


def bert(clean: bool, spaced: bool, accents: bool | None, lower: bool) -> Section:
    return {
        "type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": spaced,
        "strip_accents": accents, "lowercase": lower,
    }  # fmt: skip


def regex(pattern: str, content: str) -> Section:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def literal(pattern: str, content: str) -> Section:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def charsmap(mapping: dict[str | bytes, str]) -> Section:
    keyed = {k.encode() if isinstance(k, str) else k: value for k, value in mapping.items()}
    return {"type": "Precompiled", "precompiled_charsmap": encoded(keyed)}


def sequence(*parts: Section) -> Section:
    return {"type": "Sequence", "normalizers": list(parts)}


# Keys of one character, of several, of which one begins another, and of half a character.
MIXED = charsmap({
    b"a": "X", b"e\xcc\x81": "long text", b"\r": " ", b"\n": " ", b"\x01": "", "\u2460": "1",
    "\u00bd": "1\u20442", "\u3300": "\u30a2\u30d1\u30fc\u30c8", "\uff76": "\u30ab",
    "\uff76\uff9e": "\u30ac", "\u0600": "", "\u0e33": "\u0e4d\u0e32", "\u200d": "",
    "\U0001f600": ":)", "\u1100": "\u3131", b"\xe0\xa4": "",
})  # fmt: skip
SECTIONS: dict[str, Section] = {
    "uncased": bert(True, True, None, True),
    "cased": bert(True, True, None, False),
    "accents only": bert(False, False, True, False),
    "lowered accents": bert(True, False, False, True),
    "nmt": {"type": "Nmt"},
    "byte level": {"type": "ByteLevel"},
    "map": MIXED,
    "map between": sequence({"type": "NFKD"}, MIXED, {"type": "Lowercase"}, {"type": "NFC"}),
    "vanishing clusters": charsmap({" \u0301": "", "\r\n": "", "a\u0308": "", "\u00bd": "1/2"}),
    "runs of blanks": regex(" {2,}", " "),
    "white space": sequence({"type": "NFC"}, regex(r"\s+", " "), {"type": "Lowercase"}),
    "newlines": regex(r"[\n\r]+", "\u2581"),
    "removed letters": regex(r"[^\x00-\x7f]", ""),
    "first option wins": regex("a|ab|e", "<>"),
    "quotes, marks, map": sequence(
        literal("``", '"'), literal("''", '"'), {"type": "NFKD"}, {"type": "StripAccents"},
        {"type": "Lowercase"}, MIXED, regex(" {2,}", " "),
    ),
    "blanks to marks": sequence({"type": "Prepend", "prepend": "\u2581"}, literal(" ", "\u2581")),
    "empty prefix": {"type": "Prepend", "prepend": ""},
    "bytes of marks": sequence({"type": "NFD"}, literal("e", "\u0301"), {"type": "ByteLevel"}),
}  # fmt: skip


class Pair:
    """One section for both: our program, and a tokenizer that makes a token of each character."""

    def __init__(self, section: Section) -> None:
        steps, reasons = read_normalizer(section)
        assert reasons == []
        self.program = serialize_normalizer(tuple(steps))
        split = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated"}
        data: Section = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": section, "pre_tokenizer": split | {"invert": False},
            "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
        }  # fmt: skip
        self.tokenizer = Tokenizer.from_str(json.dumps(data))

    def check(self, text: str) -> None:
        expected = self.tokenizer.normalizer.normalize_str(text)
        assert _core.normalize(self.program, text.encode()).decode() == expected, ascii(text)
        if _core.is_normalized(self.program, text.encode()):
            assert expected == text, ascii(text)

    def check_spans(self, text: str) -> None:
        expected = self.tokenizer.normalizer.normalize_str(text)
        assert self.spans(text) == (expected, self.tokenizer.encode(text).offsets), ascii(text)

    def spans(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        result, raw = _core.normalize_aligned(self.program, text.encode())
        spans = np.frombuffer(raw, dtype=np.uint32).reshape(-1, 2).tolist()
        numbers = [i for i, character in enumerate(text) for _ in character.encode()]
        numbers.append(len(text))
        starts = [i for i, byte in enumerate(result) if byte & 0xC0 != 0x80]
        return result.decode(), [(numbers[spans[i][0]], numbers[spans[i][1]]) for i in starts]


PAIRS = {name: Pair(section) for name, section in SECTIONS.items()}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_every_character_becomes_what_the_reference_makes_of_it(pair: Pair) -> None:
    pair.check("a ".join(CHARACTERS))


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_random_text_and_its_origin_are_those_of_the_reference(pair: Pair) -> None:
    rng = random.Random(20261115)  # noqa: S311
    for number in range(400):
        plain = "".join(rng.choices("abc DEF", k=rng.randint(0, 40)))
        text = plain.join("".join(rng.choices(LIVELY, k=rng.randint(0, 9))) for _ in range(3))
        pair.check(text)
        if number % 2:
            pair.check_spans(text)


@pytest.mark.parametrize("vanishing", [" \u0301", "\r\n"])
@pytest.mark.parametrize(
    "before", ["", "b", "bc", "\u00bd", "b\u00bd", "\u0301b", "b\u0301c", "\x01b"]
)
def test_a_cluster_that_vanishes_is_aligned_like_the_reference(before: str, vanishing: str) -> None:
    for after in ("", "x", "\u00bd14" * 9):
        PAIRS["vanishing clusters"].check_spans(before + vanishing + after)
        PAIRS["vanishing clusters"].check_spans(before + vanishing * 2 + after)


@given(text=st.text(max_size=60), name=st.sampled_from(sorted(PAIRS)))
def test_any_text_and_its_origin_are_those_of_the_reference(text: str, name: str) -> None:
    PAIRS[name].check(text)
    PAIRS[name].check_spans(text)


@given(
    keys=st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=6),
    values=st.lists(st.text(max_size=3).filter(lambda t: "\0" not in t), min_size=6, max_size=6),
    texts=st.lists(st.lists(st.sampled_from(LIVELY), max_size=12).map("".join), max_size=6),
)
def test_any_map_of_characters_is_followed(
    keys: list[bytes], values: list[str], texts: list[str]
) -> None:
    pair = Pair(charsmap(dict(zip(keys, values, strict=False))))
    for text in texts:
        pair.check(text)
        pair.check_spans(text)


@pytest.mark.parametrize("size", [*range(1, 36), 127, 128, 129, 511, 512, 513, 5000])
@pytest.mark.parametrize("name", ["uncased", "map", "blanks to marks"])
def test_texts_of_every_size_around_a_block(name: str, size: int) -> None:
    for middle in ("", "\u00c9", "e\u0301", "\t", "\u4e2d", "\r\n"):
        PAIRS[name].check("Ab " * (size // 3) + "x" * (size % 3) + middle + "Q" * (size % 7))


def squeeze(text: str) -> str:
    """What the step is meant to be; `str.split` knows more white space than White_Space has."""
    for character in "\x1c\x1d\x1e\x1f":
        text = text.replace(character, f"\ue000{ord(character):02x}")
    text = "".join(f" {word}" for word in text.split())
    for character in "\x1c\x1d\x1e\x1f":
        text = text.replace(f"\ue000{ord(character):02x}", character)
    return text


WHITE = [*"ab.\u4e2d\u3002\u201c\u00e9\U0001f600", *"   \t\n\x1c\x85\xa0\u1680\u2003\u2028\u3000"]


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 18, 31, 32, 33, 100, 600, 3000])
def test_squeeze_puts_one_blank_before_every_word(size: int) -> None:
    program = serialize_normalizer((Step("squeeze"),))
    rng = random.Random(size)  # noqa: S311
    for alphabet in (WHITE, "abcdefgh ", "   a", "\u4e2d\u6587a ", " \n\u3000"):
        for _ in range(40):
            text = "".join(rng.choices(alphabet, k=size))
            assert _core.normalize(program, text.encode()).decode() == squeeze(text), ascii(text)


def test_the_blank_of_a_squeezed_word_stands_for_its_first_character() -> None:
    program = serialize_normalizer((Step("squeeze"),))
    for text in ("  ab \u4e2d\t c ", "a b " * 20, "\u00e9\u3000x " * 30):
        result, raw = _core.normalize_aligned(program, text.encode())
        spans = np.frombuffer(raw, dtype=np.uint32).reshape(-1, 2).tolist()
        assert result.decode() == squeeze(text)
        for place, byte in enumerate(result):
            begin, end = spans[place]
            wanted = place + 1 if byte == ord(" ") else place
            assert spans[wanted] == [begin, end]
            assert result[wanted] in text.encode()[begin:end]


@pytest.mark.parametrize("pattern", ["^a", "(a)\\1", "(?<=a)b", "a*", ""])
def test_patterns_that_no_automaton_finds_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedTokenizer, match="Replace with the pattern"):
        serialize_normalizer((Step("replace_regex", a=pattern, b="x"),))
