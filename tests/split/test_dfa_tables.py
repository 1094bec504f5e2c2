"""Promises of the stage tables: shape, smallness, and where a text may be cut."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.reference.split import walk, walk_stages
from tests.split.patterns import CHAINS, GPT2, LLAMA3, O200K

from tokenmill._compile.dfa_compare import same_words
from tokenmill._compile.split import compile_stage

if TYPE_CHECKING:
    from tokenmill._compile.dfa_tables import StageTables

STAGES = sorted({stage for stages in CHAINS.values() for stage in stages})
TEXT_ALPHABET = "' sSa\r\n\t/!12\u0085\u01c5\u4e00\u3042\u0301"


def class_of(tables: StageTables, char: str) -> int:
    row = np.searchsorted(tables.ranges[:, 0], ord(char), side="right") - 1
    return int(tables.ranges[row, 2])


def random_text(seed: int) -> str:
    choose = random.Random(seed)  # noqa: S311
    return "".join(choose.choices(TEXT_ALPHABET, k=choose.randint(2, 12)))


@pytest.mark.parametrize("stage", STAGES)
def test_tables_have_the_promised_shape(stage: tuple[str, str, str, bool]) -> None:
    tables = compile_stage(*stage)  # type: ignore[arg-type]
    n_states, width = tables.next.shape
    assert width == tables.n_classes + 1
    assert (tables.next[0] == 0).all()
    assert ((tables.next & 0x7FFF) < n_states).all()
    assert ((tables.next[:, -1] & 0x7FFF) == 0).all()
    assert not (tables.next[1] & 0x8000).any()
    assert tables.sync.shape == tables.separates.shape == (width - 1, width - 1)
    assert (tables.sync <= tables.separates).all()
    assert tables.ranges[0, 0] == 0
    assert tables.ranges[-1, 1] == 0x110000
    assert (tables.ranges[1:, 0] == tables.ranges[:-1, 1]).all()
    assert set(tables.ranges[:, 2].tolist()) == set(range(tables.n_classes))


@pytest.mark.parametrize("stage", STAGES)
def test_a_text_may_be_cut_where_sync_says_so(stage: tuple[str, str, str, bool]) -> None:
    tables = compile_stage(*stage)  # type: ignore[arg-type]
    for text in map(random_text, range(400)):
        classes = [class_of(tables, char) for char in text]
        whole = walk(tables, text)
        for cut, (left, right) in enumerate(pairwise(classes), start=1):
            if tables.sync[left, right]:
                assert walk(tables, text[:cut]) + walk(tables, text[cut:]) == whole


@pytest.mark.parametrize("name", ["smollm", "deepseek", "bert"])
def test_a_chain_may_be_cut_at_a_sync_behind_stages_that_separate(name: str) -> None:
    stages = [compile_stage(*stage) for stage in CHAINS[name]]
    n_cuts = 0
    for text in map(random_text, range(400)):
        whole = walk_stages(stages, text)
        for cut in range(1, len(text)):
            if is_chain_sync(stages, text[cut - 1], text[cut]):
                n_cuts += 1
                halves = walk_stages(stages, text[:cut]) + walk_stages(stages, text[cut:])
                assert halves == whole
    assert n_cuts > 300


def is_chain_sync(stages: list[StageTables], left: str, right: str) -> bool:
    for tables in stages:
        pair = class_of(tables, left), class_of(tables, right)
        if tables.sync[pair]:
            return True
        if not tables.separates[pair]:
            return False
    return False


@pytest.mark.parametrize(
    ("left", "right"),
    [("ab|ac", "a[bc]"), ("a+a*", "a+"), ("a|ab", "a"), (r"\s+(?!\S)|\s", r"\s+(?!\S)|\s+")],
)
def test_patterns_with_the_same_words_have_the_same_tables(left: str, right: str) -> None:
    ours, theirs = (compile_stage(p, "onig", "isolated", False) for p in (left, right))
    assert same_words(ours, theirs)
    assert ours.next.shape == theirs.next.shape


@pytest.mark.parametrize(
    ("left", "right"), [("a|ab", "ab|a"), ("a+", "a"), ("[ab]", "[ac]"), (GPT2, LLAMA3)]
)
def test_patterns_with_different_words_are_told_apart(left: str, right: str) -> None:
    ours, theirs = (compile_stage(p, "onig", "isolated", False) for p in (left, right))
    assert not same_words(ours, theirs)


def test_dropped_gaps_do_not_matter_where_there_are_none() -> None:
    isolated = compile_stage(O200K, "onig", "isolated", False)
    removed = compile_stage(O200K, "onig", "removed", True)
    assert isolated.always_matches()
    assert same_words(isolated, removed)
    assert not same_words(
        compile_stage("a", "onig", "isolated", False), compile_stage("a", "onig", "removed", True)
    )
