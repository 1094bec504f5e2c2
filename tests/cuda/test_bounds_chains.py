"""Splits that are a chain of automata, on a device: ids against those of the CPU engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import small_definition
from tests.cuda.devices import connect
from tests.cuda.test_bounds import WIDE, runs_of_classes
from tests.cuda.tokenizers_small import write
from tests.split.patterns import DEEPSEEK
from tests.strategies import ALPHABET, class_strings, short_texts

from tokenmill import Tokenizer
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions
from tokenmill._cuda.tables import chain_struct, chain_tables, stage_count

if TYPE_CHECKING:
    from pathlib import Path

BYTE_LEVEL = small_definition()["pre_tokenizer"]


def isolated(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
    }  # fmt: skip


CHAINS: dict[str, list[dict[str, Any]]] = {
    "deepseek": [
        *(isolated(str(stage[0])) for stage in DEEPSEEK), {**BYTE_LEVEL, "use_regex": False},
    ],
    # After the byte level, every byte counts as a character: words are cut inside of characters.
    "falcon": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        BYTE_LEVEL,
        {"type": "Digits", "individual_digits": False},
        isolated("[0-9][0-9][0-9]"),
    ],
    "two": [isolated(r"\p{Lu}+"), isolated(r"\S+"), {**BYTE_LEVEL, "use_regex": False}],
}  # fmt: skip


def made(folder: Path, name: str) -> Tokenizer:
    chain = {"type": "Sequence", "pretokenizers": CHAINS[name]}
    return Tokenizer.load(write(folder, {**small_definition(), "pre_tokenizer": chain}))


@pytest.mark.parametrize("name", CHAINS)
def test_ids_are_those_of_the_cpu(tmp_path: Path, name: str) -> None:
    tokenizer = made(tmp_path, name)
    facts = tokenizer._model.device_tables()
    assert stage_count(facts) == facts["stage_count"] > 1
    gpu = DeviceTokenizer(
        tokenizer.ready, 0, DeviceOptions(table_bits=12), tile=64,
        connect=connect(tmp_path, shuffle=5),
    )  # fmt: skip
    texts = [*short_texts(ALPHABET, 2), *class_strings(31, 200, 300)]
    texts += class_strings(32, 200, 300, WIDE) + runs_of_classes(140)[::7]
    found = gpu.encode_batch(texts)
    assert not found.fallbacks
    assert found.to_host() == tokenizer.encode_batch(texts)


def test_stages_are_laid_out_one_after_the_other(tmp_path: Path) -> None:
    facts = made(tmp_path, "deepseek")._model.device_tables()
    arrays = chain_tables(facts)
    assert len(arrays) == 5 * 3
    rows = chain_struct(facts, list(range(100, 115))).reshape(3, 8).tolist()
    for number, row in enumerate(rows):
        stage = facts["stages"][number]
        assert row[:5] == list(range(100 + 5 * number, 105 + 5 * number))
        assert row[5:] == [stage["stage_classes"], stage["stage_shift"], 0]
    assert (
        chain_tables(Tokenizer.load(write(tmp_path, small_definition()))._model.device_tables())
        == []
    )
