"""Post-processors as data: what the loader makes of them and where it is carried."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTE_LEVEL, tokenizer_json, write_json
from tests.post.processors import BERT, ROBERTA, template

from tokenmill import LoadError, Tokenizer, UnsupportedTokenizer
from tokenmill._load.source import load_source
from tokenmill._model.compressed import pack_spec, unpack_spec
from tokenmill._spec import TemplatePart

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

A, B = TemplatePart("A"), TemplatePart("B", type_id=1, overflow_type_id=1)


def load(directory: Path, section: object) -> TokenizerSpec:
    return load_source(write_json(directory, tokenizer_json(post_processor=section)))


def fixed(*ids: int, type_id: int = 0) -> TemplatePart:
    return TemplatePart(ids=ids, type_id=type_id)


@pytest.mark.parametrize(
    ("section", "single", "pair"),
    [
        (None, (A,), (A, B)),
        (BYTE_LEVEL, (A,), (A, B)),
        (BERT, (fixed(7), A, fixed(8)), (fixed(7), A, fixed(8), B, fixed(8, type_id=1))),
        (
            ROBERTA,
            (fixed(7), A, fixed(8)),
            (fixed(7), A, fixed(8), fixed(8), TemplatePart("B"), fixed(8)),
        ),
        (
            template("A:3 y:4", "B:1 x:2 A:0"),
            (TemplatePart("A", (), 3, 0), fixed(2, 3, type_id=4)),
            (B, fixed(1, type_id=2), A),
        ),
    ],
)
def test_a_processor_becomes_parts(
    tmp_path: Path, section: object, single: object, pair: object
) -> None:
    spec = load(tmp_path, section)
    assert (spec.single, spec.pair) == (single, pair)
    assert spec.unsupported == ()


@pytest.mark.parametrize(
    ("section", "trims"),
    [
        (None, ()),
        ({**BYTE_LEVEL, "trim_offsets": False}, ()),
        (BYTE_LEVEL, (False,)),
        ({"type": "Sequence", "processors": [{**BYTE_LEVEL, "add_prefix_space": True}]}, (True,)),
        ({**ROBERTA, "add_prefix_space": True}, (True,)),
        ({"type": "Sequence", "processors": [ROBERTA, BYTE_LEVEL]}, (False, False)),
    ],
)
def test_passes_that_trim_offsets_are_kept(
    tmp_path: Path, section: object, trims: tuple[bool, ...]
) -> None:
    assert load(tmp_path, section).trim_offsets == trims


def test_the_compiled_model_carries_the_parts(tmp_path: Path) -> None:
    path = write_json(tmp_path, tokenizer_json(post_processor=BERT))
    meta = Tokenizer.load(path).ready.meta
    spec = load_source(path)
    assert spec.single is not None
    assert spec.pair is not None
    assert [(t, tuple(ids), *types) for t, ids, *types in meta["single"]] == [
        astuple(part) for part in spec.single
    ]
    assert len(meta["pair"]) == len(spec.pair)
    assert meta["trim_offsets"] == []


def test_the_compressed_form_carries_the_parts(tmp_path: Path) -> None:
    spec = load(tmp_path, {"type": "Sequence", "processors": [BYTE_LEVEL, BERT]})
    again = unpack_spec(pack_spec(spec), "")
    assert (again.single, again.pair) == (spec.single, spec.pair)
    assert again.trim_offsets == spec.trim_offsets == (False,)
    assert again.content_hash == spec.content_hash


@pytest.mark.parametrize(
    "section",
    [
        {"type": "Sequence", "processors": [BERT, ROBERTA]},
        template("A:0 A:0", "A:0 B:1"),
        template("x:0", "A:0 B:1"),
    ],
)
def test_what_parts_cannot_say_is_refused_and_never_guessed(
    tmp_path: Path, section: object
) -> None:
    path = write_json(tmp_path, tokenizer_json(post_processor=section))
    with pytest.warns(UserWarning, match="runs through"):
        tokenizer = Tokenizer.load(path)
    wishes: list[dict[str, Any]] = [{"pairs": ["b"]}, {"padding": "longest"}]
    for options in wishes:
        with pytest.raises(UnsupportedTokenizer, match="not known in parts"):
            tokenizer.encode_batch(["a"], **options)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({**BERT, "cls": ["c", -1]}, "cls: expected a number from 0"),
        ({**BERT, "sep": ["s", 1 << 32]}, "sep: expected a number from 0"),
        ({**BYTE_LEVEL, "trim_offsets": 1}, "trim_offsets: expected true or false"),
        (template("A:-1", "A:0 B:0"), r"single\[0\].type_id: expected a number"),
        ({**template("A:0", "A:0"), "pair": None}, "pair: expected an array"),
        (
            {**template("A:0", "A:0"), "pair": [{"Sequence": {"id": "C", "type_id": 0}}]},
            "the text A or B, got 'C'",
        ),
    ],
)
def test_a_wrong_processor_is_a_load_error(
    tmp_path: Path, section: dict[str, Any], problem: str
) -> None:
    with pytest.raises(LoadError, match=problem):
        load(tmp_path, section)
