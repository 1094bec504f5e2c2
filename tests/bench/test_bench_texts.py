"""The texts of scenarios: the same every time, of the size asked for, not one page repeated."""

from __future__ import annotations

import json
import lzma

import pytest

from tokenmill._bench.agent import agent_trace
from tokenmill._bench.scenarios import SCENARIOS, SIZES, cases_of, hash_texts, size_name
from tokenmill._bench.texts import KINDS, sentences, text_of

# Of the texts that ship: results of `bench --json` are only comparable while these do not change.
HASHES = {
    "english": "d3d4a199c8e944b3",
    "code": "37fbf584b5d7299b",
    "chinese": "0ae7042467101e21",
    "agent": "4c7a52e87233246e",
}


def test_texts_never_change() -> None:
    found = {kind: hash_texts([text_of(kind, 50_000, 1)]) for kind in KINDS}
    assert {**found, "agent": hash_texts([agent_trace(50_000, 1)])} == HASHES


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_has_its_size_and_does_not_repeat_itself(kind: str) -> None:
    text = text_of(kind, 1_000_000).encode()
    assert 999_997 <= len(text) <= 1_000_000
    assert len(lzma.compress(text)) > 80_000
    assert text_of(kind, 1000, 1) != text_of(kind, 1000, 2)


def test_sentences_are_short_lines() -> None:
    found = sentences(500)
    assert len(found) == len([text for text in found if 40 <= len(text) <= 200]) == 500
    assert len(set(found)) > 400


def test_an_agent_trace_is_schemas_and_then_json_lines() -> None:
    text = agent_trace(30_000)
    schemas, _, rest = text.partition('\n{"role"')
    assert len(json.loads(schemas)["tools"]) == 6
    turns = ('{"role"' + rest).splitlines()[:-1]
    assert {json.loads(turn)["role"] for turn in turns} == {"assistant", "tool"}


def test_every_scenario_of_the_issue_is_there() -> None:
    assert list(SCENARIOS) == [
        "sentence", "chat turn", "batch", "long document", "code", "Chinese", "agent trace",
        "growing chat", "one letter", "decode streams",
    ]  # fmt: skip
    assert (SIZES[0], SIZES[-1]) == (1_000, 5_000_000)
    (sentence,), (small, large) = cases_of(["sentence", "code"], [1_000, 200_000])
    assert (sentence.name, small.name, large.name) == ("sentence", "code 1 KB", "code 200 KB")
    assert len(small.texts) > len(large.texts)


def test_sizes_have_names() -> None:
    assert list(map(size_name, (12, 1_000, 2_500_000))) == ["12 B", "1 KB", "2.5 MB"]
