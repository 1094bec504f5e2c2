"""Every pre-tokenizer as split steps, compiled, against the pre-tokenizer of `tokenizers`."""

from __future__ import annotations

import json
import random
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTE_LEVEL, tokenizer_json, write_json
from tests.reference.spec_encoder import SpecEncoder
from tests.reference.split import walk_stages
from tokenizers import Tokenizer

from tokenmill._compile.split import compile_stage
from tokenmill._errors import LoadError
from tokenmill._load.pre_tokenizer import N_SCRIPTS, read_pre_tokenizer
from tokenmill._load.source import load_source
from tokenmill._spec import Metaspace
from tokenmill._unicode import code_points, names

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers.pre_tokenizers import PreTokenizer

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
BAR = "\u2581"
SPACE = {"type": "Metaspace", "replacement": BAR}
HOSTILE = (
    *" \t\n\r\x00\x0b\x1c\x1f\x85\xa0",
    *"ab_AZ09.,!'-|$+<>^`~",
    *"\u00b2\u00bd\u00e9\u0301\u0660\u0431\u05d0\u0e01\u0f0b\u1100\u1161\u11a8\ud7ff\ue000",
    *"\u200b\u200d\u2028\u203f\u2581\u3000\u3042\u30a2\u30fc\u4e2d\uac00\ufb01\ufeff\ufffd\uff21",
    *"\U00011de0\U0001f469\U0001f600\U00020000\U000e0001\U00100000\U0010ffff",
)


def split(pattern: dict[str, str], behavior: str, *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def chain(*sections: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(sections)}


def library(section: dict[str, Any]) -> PreTokenizer:
    whole = Tokenizer.from_str(json.dumps(tokenizer_json(pre_tokenizer=section)))
    found: PreTokenizer | None = whole.pre_tokenizer
    assert found is not None
    return found


def words_of(pre_tokenizer: PreTokenizer, text: str) -> list[str]:
    return [word for word, _ in pre_tokenizer.pre_tokenize_str(text)]


def hostile_texts(count: int) -> list[str]:
    generator = random.Random(11)  # noqa: S311
    texts = list(HOSTILE)
    for _ in range(count):
        pool = HOSTILE if generator.random() < 0.5 else generator.choices(HOSTILE, k=3)
        texts.append("".join(generator.choices(pool, k=generator.randint(2, 14))))
    return texts


SECTIONS: dict[str, dict[str, Any]] = {
    "whitespace": {"type": "Whitespace"},
    "blanks": {"type": "WhitespaceSplit"},
    "bert": {"type": "BertPreTokenizer"},
    "scripts": {"type": "UnicodeScripts"},
    "five": {"type": "FixedLength"},
    "three": {"type": "FixedLength", "length": 3},
    "digits": {"type": "Digits", "individual_digits": False},
    "each-digit": {"type": "Digits", "individual_digits": True},
    "punctuation": {"type": "Punctuation"},
    "bar": {"type": "CharDelimiterSplit", "delimiter": "|"},
    "special": {"type": "CharDelimiterSplit", "delimiter": "^"},
    **{
        f"punctuation-{behavior}": {"type": "Punctuation", "behavior": behavior}
        for behavior in BEHAVIORS
    },
    **{
        f"{name}-{behavior}-{invert}": split(pattern, behavior, invert=invert)
        for behavior, invert in product(BEHAVIORS, (False, True))
        for name, pattern in (
            ("blank", {"String": " "}),
            ("letters", {"Regex": r"\p{L}+"}),
            ("class", {"Regex": "[ab_ ]"}),
        )
    },
    "scripts-and-digits": chain(
        {"type": "UnicodeScripts"}, {"type": "Digits", "individual_digits": True}
    ),
    "whitespace-five": chain({"type": "Whitespace"}, {"type": "FixedLength"}),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_steps_cut_as_the_pre_tokenizer_does(name: str) -> None:
    read = read_pre_tokenizer(SECTIONS[name])
    assert read.reasons == []
    stages = [compile_stage(s.pattern, s.dialect, s.behavior, s.invert) for s in read.steps]
    reference = library(SECTIONS[name])
    for text in hostile_texts(400):
        assert walk_stages(stages, text) == words_of(reference, text), repr(text)


@pytest.mark.parametrize("name", ["whitespace", "bert", "scripts"])
def test_every_code_point_is_where_the_library_has_it(name: str) -> None:
    read = read_pre_tokenizer(SECTIONS[name])
    stages = [compile_stage(s.pattern, s.dialect, s.behavior, s.invert) for s in read.steps]
    reference = library(SECTIONS[name])
    edges = {begin + d for s in stages for begin in s.ranges[:, 0].tolist() for d in (-1, 0)}
    chars = [chr(point) for point in sorted(edges) if point >= 0 and not 0xD800 <= point < 0xE000]
    texts = [f"a{c}{c}!{c}1 {c}\u0431" for c in chars]
    assert [walk_stages(stages, t) for t in texts] == [words_of(reference, t) for t in texts]


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("pattern", ["b", "b+", "[bc]", "[bc]+"])
def test_every_short_text_is_cut_alike(pattern: str, behavior: str, invert: bool) -> None:
    section = split({"Regex": pattern}, behavior, invert=invert)
    step = read_pre_tokenizer(section).steps[0]
    stage = compile_stage(step.pattern, step.dialect, step.behavior, step.invert)
    reference = library(section)
    for text in map("".join, product("abc", repeat=6)):
        assert walk_stages([stage], text) == words_of(reference, text), text


def test_the_scripts_share_out_all_characters() -> None:
    scripts = [name for name in names("hf") if name.startswith("Script")]
    assert len(scripts) == N_SCRIPTS
    covered = sorted(pair for name in scripts for pair in code_points("hf", name))
    assert sum(end - begin for begin, end in covered) == 0x110000 - 0x800
    assert all(left[1] <= right[0] for left, right in pairwise(covered))


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (SPACE, Metaspace(BAR, "always", split=True)),
        ({**SPACE, "add_prefix_space": True, "str_rep": "x"}, Metaspace(BAR, "always", split=True)),
        (
            {**SPACE, "add_prefix_space": False, "prepend_scheme": "never"},
            Metaspace(BAR, "never", split=True),
        ),
        (
            {**SPACE, "prepend_scheme": "first", "split": False},
            Metaspace(BAR, "first", split=False),
        ),
        (chain({"type": "WhitespaceSplit"}, SPACE), Metaspace(BAR, "always", split=True, after=1)),
        (chain(SPACE, {"type": "WhitespaceSplit"}), Metaspace(BAR, "always", split=True)),
    ],
)
def test_metaspace_is_read_in_both_spellings(section: dict[str, Any], expected: Metaspace) -> None:
    library(section)
    read = read_pre_tokenizer(section)
    assert (read.metaspace, read.reasons) == (expected, [])


@pytest.mark.parametrize("prepend", ["always", "first", "never"])
@pytest.mark.parametrize("with_split", [True, False])
@pytest.mark.parametrize("around", ["alone", "after", "before"])
def test_metaspace_cuts_as_the_library_does(
    tmp_path: Path, prepend: str, with_split: bool, around: str
) -> None:
    space = {**SPACE, "prepend_scheme": prepend, "split": with_split}
    other = {"type": "WhitespaceSplit"} if around == "after" else {"type": "Punctuation"}
    section = {"alone": space, "after": chain(other, space), "before": chain(space, other)}[around]
    spec = load_source(write_json(tmp_path, tokenizer_json(pre_tokenizer=section)))
    assert spec.unsupported == ()
    encoder = SpecEncoder(spec)
    reference = library(section)
    generator = random.Random(5)  # noqa: S311
    for _ in range(600):
        text = "".join(
            generator.choices(f"  {BAR}{BAR}ab\t\n.\u3000\xa0", k=generator.randint(1, 9))
        )
        words = [word.decode() for word in encoder.words(text)]
        assert words == words_of(reference, text), repr(text)


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (chain(SPACE, SPACE), "Metaspace after another Metaspace"),
        (chain(BYTE_LEVEL, SPACE), "Metaspace after ByteLevel"),
        (chain(SPACE, {**BYTE_LEVEL, "add_prefix_space": True}), "add_prefix_space after another"),
        (chain(SPACE, BYTE_LEVEL), "ByteLevel after Metaspace"),
        ({"type": "Banana"}, "pre-tokenizer Banana"),
    ],
)
def test_an_order_we_cannot_express_is_a_reason(section: dict[str, Any], reason: str) -> None:
    assert any(reason in text for text in read_pre_tokenizer(section).reasons)


def test_the_first_word_of_normalized_text_is_a_reason(tmp_path: Path) -> None:
    first = {**SPACE, "prepend_scheme": "first"}
    section = chain({"type": "WhitespaceSplit"}, first)
    lower = {"type": "Lowercase"}
    data = tokenizer_json(pre_tokenizer=section, normalizer=lower)
    assert "first" in load_source(write_json(tmp_path, data)).unsupported[0]
    data = tokenizer_json(pre_tokenizer=first, normalizer=lower)
    assert load_source(write_json(tmp_path, data)).unsupported == ()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"type": "Metaspace"}, "replacement: expected a string, got nothing"),
        ({**SPACE, "replacement": "ab"}, "replacement: expected one character, got 'ab'"),
        ({**SPACE, "replacement": ""}, "replacement: expected one character"),
        ({**SPACE, "prepend_scheme": "last"}, "prepend_scheme: expected one of.*'last'"),
        ({**SPACE, "prepend_scheme": None}, "prepend_scheme: expected a string"),
        ({**SPACE, "add_prefix_space": False}, "add_prefix_space: expected what fits"),
        ({"type": "CharDelimiterSplit", "delimiter": "ab"}, "delimiter: expected one character"),
        (split({"Regex": "a"}, "isolated"), "behavior"),
    ],
)
def test_a_pre_tokenizer_the_library_refuses_is_an_error(
    section: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Exception, match="line 1 column"):
        library(section)
    with pytest.raises(LoadError, match=problem):
        read_pre_tokenizer(section)


def test_words_of_no_length_are_an_error() -> None:
    with pytest.raises(LoadError, match="length: expected at least 1, got 0"):
        read_pre_tokenizer({"type": "FixedLength", "length": 0})
