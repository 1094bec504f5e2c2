"""What people read is in plain English: `tools/check_english` finds nothing where it looks."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

CHECKER = runpy.run_path(str(Path(__file__).resolve().parent.parent / "tools" / "check_english"))


def phrases(text: str) -> list[str]:
    return [finding.phrase for finding in CHECKER["find"](text)]


def test_the_text_is_plain() -> None:
    assert [str(finding) for finding in CHECKER["check"](CHECKER["CHECKED"])] == []


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("A run that was stopped begins anew.", "anew"),
        ("The record is mended.", "mended"),
        ("It goes on where it was.", "goes on"),
        ("The run goes\n    # on after a kill.", "goes # on"),
        ("EOS stands behind each document.", "stands"),
        ("It is no string.", "is no string"),
        ("the lines are\nno records", "are no records"),
        ("leave `output` away", "leave `output` away"),
        ("as `bytes.decode` has it", "as `bytes.decode` has it"),
        ("One object a line.", "One object a line"),
    ],
)
def test_stiff_phrases_are_found(text: str, phrase: str) -> None:
    assert phrase in phrases(text)


@pytest.mark.parametrize(
    "text",
    [
        "The standard library is a stand-alone package.",
        "U+0120 stands for a space.",
        "A look-behind, or a lookbehind, is not regular.",
        "There is no file, and there\nare no others.",
        "It is no longer there, and is no faster than before.",
        "Amend the commit and recommend a name.",
        "The text goes on the GPU.",
        "mended_text = begin_anew(shall_not)",
    ],
)
def test_plain_phrases_pass(text: str) -> None:
    assert phrases(text) == []


def test_a_finding_names_the_place_and_the_replacement() -> None:
    (finding,) = CHECKER["find"]("fine\nnot fine: anew", "docs/page.md")
    assert str(finding) == "docs/page.md:2: 'anew'; write: again, restart"
