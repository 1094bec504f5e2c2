"""Code-point sets: the generated data against the engines themselves."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokenmill._unicode import case_variants, code_points, engines, names

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_unicode", ROOT / "tools/gen_unicode.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return load_generator()


@pytest.mark.parametrize("name", ["L", "M", "N", "Space", "Word", "WordInClass"])
@pytest.mark.parametrize("engine", ["onig", "fancy"])
def test_sets_are_those_of_the_engine(generator: ModuleType, engine: str, name: str) -> None:
    match = {"onig": generator.match_onig, "fancy": generator.match_fancy}[engine]
    assert code_points(engine, name) == match(generator.PATTERNS[name])


@pytest.mark.parametrize("letter", "ksz")
@pytest.mark.parametrize("engine", ["onig", "fancy"])
def test_case_variants_are_those_of_the_engine(
    generator: ModuleType, engine: str, letter: str
) -> None:
    match = {"onig": generator.match_onig, "fancy": generator.match_fancy}[engine]
    matched = [p for begin, end in match(f"(?i:{letter})") for p in range(begin, end)]
    assert list(case_variants(engine, letter)) == matched


def test_predicates_are_those_of_the_reference(generator: ModuleType) -> None:
    assert code_points("hf", "Punctuation") == generator.PREDICATES["Punctuation"]()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["onig", "fancy"])
def test_every_set_is_that_of_the_engine(generator: ModuleType, engine: str) -> None:
    match = {"onig": generator.match_onig, "fancy": generator.match_fancy}[engine]
    found = generator.probe_regexes(match)
    assert found == {name: code_points(engine, name) for name in names(engine)}


def test_ranges_are_sorted_apart_and_without_surrogates() -> None:
    for engine in engines():
        for name in names(engine):
            end = -1
            for begin, next_end in code_points(engine, name):
                assert end < begin < next_end <= 0x110000, (engine, name)
                assert next_end <= 0xD800 or begin >= 0xE000, (engine, name)
                end = next_end


@pytest.mark.parametrize("engine", ["onig", "fancy"])
def test_the_seven_major_categories_part_all_characters(engine: str) -> None:
    ranges = sorted(r for name in "LMNPSZC" for r in code_points(engine, name))
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(ranges))
    assert sum(end - begin for begin, end in ranges) == 0x110000 - 2048


def test_well_known_characters_are_where_they_belong() -> None:
    assert code_points("fancy", "Zs")[0] == (0x20, 0x21)
    assert (0x85, 0x86) in code_points("onig", "Space")
    assert case_variants("onig", "S") == (ord("S"), ord("s"), 0x17F)
    assert case_variants("fancy", "k") == (ord("K"), ord("k"), 0x212A)


def test_a_bare_word_escape_of_onig_is_wider_than_one_in_brackets() -> None:
    assert (0xB2, 0xB4) in code_points("onig", "Word")
    assert (0xB2, 0xB4) not in code_points("onig", "WordInClass")


@pytest.mark.parametrize(
    ("engine", "name", "listed"), [("perl", "L", "onig"), ("onig", "Klingon", "Katakana")]
)
def test_an_unknown_name_raises_and_lists_the_known_ones(
    engine: str, name: str, listed: str
) -> None:
    with pytest.raises(LookupError, match=listed):
        code_points(engine, name)


def test_case_variants_of_no_letter_raise() -> None:
    with pytest.raises(LookupError, match="ASCII letter"):
        case_variants("onig", "1")
    with pytest.raises(LookupError, match="case variants"):
        case_variants("hf", "k")
