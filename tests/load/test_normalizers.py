"""The normalizers of a tokenizer.json that are made of several steps or carry tables."""

from __future__ import annotations

import pytest

from tokenmill._errors import LoadError
from tokenmill._load.normalizer import read_normalizer


def test_parts_of_bert_become_steps_and_accents_follow_the_case() -> None:
    section = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}

    def kinds(**options: bool | None) -> list[str]:
        return [step.kind for step in read_normalizer(section | options)[0]]

    first, accents = ["clean", "space_ideographs"], ["nfd", "strip_nonspacing"]
    assert kinds(lowercase=True) == [*first, *accents, "lowercase"]
    assert kinds(lowercase=True, strip_accents=False) == [*first, "lowercase"]
    assert kinds(lowercase=False, strip_accents=None) == first
    assert kinds(lowercase=False, strip_accents=True) == [*first, *accents]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "a trie and its size"),
        ("!", "base64"),
        ("AAAAAA==", "a trie and its size"),
        ("CAAAAAAAAAA=", "a trie and its size"),
        ("BAAAAAAAAAD/", "UTF-8"),
    ],
)
def test_a_damaged_map_of_characters_is_an_error(content: str, problem: str) -> None:
    section = {"type": "Precompiled", "precompiled_charsmap": content}
    with pytest.raises(LoadError, match=problem):
        read_normalizer(section)


def test_parts_of_bert_that_the_library_wants_are_wanted_here() -> None:
    for section in (
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True},
        {"type": "BertNormalizer", "clean_text": True, "lowercase": True},
    ):
        with pytest.raises(LoadError, match=r"normalizer\.\w+: expected true or false"):
            read_normalizer(section)
