"""What the core accepts: options by name, and definitions whose fields are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.pipeline.conftest import small_spec

from tokenmill import LoadError, OptionError, _core
from tokenmill._compile import model as compiler

if TYPE_CHECKING:
    from tokenmill._compile.definition import Definition

TEXTS = ["the quick </s>", "<s>and"]


@pytest.fixture(scope="module")
def model(small_payload: bytes) -> _core.Model:
    return _core.Model(small_payload)


@pytest.fixture(scope="module")
def definition() -> Definition:
    with patch.object(_core, "compile_model") as compile_model:
        compiler.compile_spec(small_spec())
    (given,) = compile_model.call_args.args
    return given  # type: ignore[no-any-return]


def test_options_have_names_and_defaults(model: _core.Model) -> None:
    wanted: Any = model.encode_batch(TEXTS, 1, 32, False, 0, 0)
    named: Any = model.encode_batch(
        TEXTS, errors=0, special_mode=0, add_special_tokens=False, bits=32, threads=1
    )
    default: Any = model.encode_batch(TEXTS)
    for got in (named, default):
        assert [array.tolist() for array in got] == [array.tolist() for array in wanted]
    assert model.encode(TEXTS[0]).tolist() == model.encode(TEXTS[0], False, 0, 0).tolist()
    assert model.count_batch(TEXTS).tolist() == np.diff(wanted[1]).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"special_mode": 3}, r"special_mode: expected 0 \(encode\), 1 .* or 2 .*, got 3"),
        ({"special_mode": -1}, "special_mode: .* got -1"),
        ({"errors": 2}, r"errors: expected 0 \(strict\) or 1 \(replace\), got 2"),
        ({"bits": 8}, "bits: expected 16 or 32, got 8"),
    ],
)
def test_a_number_that_names_nothing_is_refused(
    model: _core.Model, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        model.encode_batch(TEXTS, **options)


def test_rows_refuse_an_unknown_rule_for_long_documents() -> None:
    lengths = np.array([5], dtype=np.int64)
    with pytest.raises(OptionError, match=r"longer: expected 0 .* got 3"):
        _core.pack_best_fit(lengths, 4, 3)


def test_a_definition_compiles_to_the_same_bytes(
    definition: Definition, small_payload: bytes
) -> None:
    assert _core.compile_model(definition) == small_payload


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("prefix_space", "often", r'definition.prefix_space: expected one of "never", .* "often"'),
        ("trim", "all_", r'definition.trim: expected one of "never", "all", "keep_added", got'),
        ("trim", 2, "definition.trim: expected another type, got <class 'int'>"),
        ("normalizer", "text", "definition.normalizer: expected another type, got <class 'str'>"),
        ("cut_by_tokens", 1, "definition.cut_by_tokens: expected another type, got <class 'int'>"),
        ("prefix_ids", [b"a"], "definition.prefix_ids: expected another type"),
    ],
)
def test_a_field_with_a_wrong_value_is_named(
    definition: Definition, field: str, value: object, message: str
) -> None:
    with pytest.raises(LoadError, match=message):
        _core.compile_model(replace(definition, **{field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["vocab", "rule"])
def test_a_field_inside_a_part_is_named_with_its_path(definition: Definition, part: str) -> None:
    name = {"vocab": "kind", "rule": "family"}[part]
    broken = replace(getattr(definition, part), **{name: "other"})
    with pytest.raises(LoadError, match=rf'definition\.{part}\.{name}: expected one of .*"other"'):
        _core.compile_model(replace(definition, **{part: broken}))
