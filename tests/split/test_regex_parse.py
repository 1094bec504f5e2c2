"""Pattern text -> syntax tree: what is read, what is refused, what is wrong."""

from __future__ import annotations

import pytest

from tokenmill._compile.char_sets import complement, intersection, of_chars, union
from tokenmill._compile.regex_ast import Ahead, Char, NotRegular, Repeat, Sequence
from tokenmill._compile.regex_parse import parse
from tokenmill._errors import PatternError
from tokenmill._unicode import code_points

A = Char(((97, 98),))


def test_set_algebra_keeps_ranges_sorted_and_disjoint() -> None:
    assert of_chars([98, 97, 120]) == ((97, 99), (120, 121))
    assert union(((1, 3),), ((3, 5),), ((9, 10),)) == ((1, 5), (9, 10))
    assert complement(((0, 5),)) == ((5, 0x110000),)
    assert intersection(((1, 6),), ((4, 9),)) == ((4, 6),)


@pytest.mark.parametrize(
    ("pattern", "mode"), [("a+", "greedy"), ("a+?", "lazy"), ("a++", "possessive")]
)
def test_quantifiers_carry_their_mode(pattern: str, mode: str) -> None:
    assert parse(pattern, "onig") == Repeat(A, 1, None, mode)  # type: ignore[arg-type]


def test_a_plus_behind_an_interval_repeats_it_in_ruby_syntax_only() -> None:
    assert parse("a{1,3}+", "fancy") == Repeat(A, 1, 3, "possessive")
    inner = Repeat(A, 1, 3, "greedy")
    assert parse("a{1,3}+", "onig") == Repeat(inner, 1, None, "greedy")


def test_a_dollar_is_an_end_of_line_in_ruby_syntax_only() -> None:
    assert parse("a$", "onig") == Sequence((A, Ahead(((10, 11),), at_end=True)))
    assert parse("a$", "fancy") == Sequence((A, Ahead((), at_end=True)))


@pytest.mark.parametrize(
    ("pattern", "chars"),
    [
        (r"[a-c]", ((97, 100),)),
        (r"[a\-z]", of_chars(map(ord, "a-z"))),
        (r"[]a]", of_chars(map(ord, "]a"))),
        (r"[^]a]", complement(of_chars(map(ord, "]a")))),
        (r"[a-]", of_chars(map(ord, "a-"))),
        (r"[a-c&&[^b]]", of_chars(map(ord, "ac"))),
        (r"[a[b]c]", ((97, 100),)),
        (r"[\x{41}\u0042\t]", of_chars([9, 65, 66])),
        (r"\p{^L}", complement(code_points("onig", "L"))),
        (r"\P{Letter}", complement(code_points("onig", "L"))),
        (r"\p{hf:Numeric}", code_points("hf", "Numeric")),
        (r"[[:alpha:]]", code_points("onig", "[:alpha:]")),
        (r"(?i:k)", of_chars([75, 107, 0x212A])),
        (r"(?i:[^k])", complement(of_chars([75, 107, 0x212A]))),
        (r".", complement(((10, 11),))),
    ],
)
def test_sets_are_read(pattern: str, chars: tuple[tuple[int, int], ...]) -> None:
    node = parse(pattern, "onig")
    assert isinstance(node, Char)
    assert node.chars == chars


@pytest.mark.parametrize(
    "pattern",
    [
        r"^a", r"a\b", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"\R", r"\X", r"a{", r"a{,2}", r"a{3,1}",
        r"a{2000}", r"a**", r"a(?=bc)", r"(?=a)*", r"(?m:a)", r"a(?i)b", r"(?i:\p{L})",
        "(?i:\u00e9)", r"[a&&]", r"\p{Nonsense}", r"\q", r"(?#c)a", r"\xe9", r"a{3}?", r"\pL",
    ],
)  # fmt: skip
def test_what_no_table_can_hold_is_refused(pattern: str) -> None:
    with pytest.raises(NotRegular):
        parse(pattern, "onig")


@pytest.mark.parametrize(
    "pattern", ["a)", "(a", "[a", "[]", "[b-a]", r"[a-\s]", r"[\s-a]", "*a", "a\\", r"\p{L"]
)
@pytest.mark.parametrize("dialect", ["onig", "fancy"])
def test_a_wrong_pattern_is_an_error_with_its_place(pattern: str, dialect: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(pattern, dialect)  # type: ignore[arg-type]
    assert caught.value.pattern == pattern
    assert caught.value.offset is not None
