"""Tokenizers that the kernels can run; their added tokens and normalizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import small_definition
from tests.cuda.tokenizers_small import write

from tokenmill import DeviceError, Tokenizer
from tokenmill._cuda.support import check_support
from tokenmill.cuda import GpuTokenizer

if TYPE_CHECKING:
    from pathlib import Path


MUCH = ["hello world " * 1000] * 400  # more than `auto` leaves to the CPU


@pytest.fixture
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


def definition(**changes: Any) -> dict[str, Any]:
    return {**small_definition(), **changes}


BYTE_LEVEL = small_definition()["pre_tokenizer"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "unsupported_normalizer"),
        ({"normalizer": {"type": "NFKC"}}, "unsupported_normalizer"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}, "unsupported_normalizer"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": False},
                {"type": "Split", "pattern": {"Regex": " "}, "behavior": "Removed",
                 "invert": False}, BYTE_LEVEL]}},
            "unsupported_split",
        ),
    ],
)  # fmt: skip
def test_tokenizers_that_the_kernels_cannot_run(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    tokenizer = Tokenizer.load(write(tmp_path, definition(**changes)))
    with pytest.raises(DeviceError, match=tokenizer.name) as caught:
        GpuTokenizer(tokenizer)
    assert caught.value.reason == reason
    batch = tokenizer.encode_batch(MUCH, device="auto")
    assert str(batch.reason).startswith(f"{reason}: ")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [({"kind": 1}, "unsupported_model"), ({"has_ends": True}, "unsupported_model"),
     ({"has_ties": True}, "unsupported_model"), ({"rule": {"family": 4}}, "unsupported_split"),
     ({"rule": {"family": 0}, "stages": [{"stage_keeps_all": False}]}, "unsupported_split")],
)  # fmt: skip
def test_models_that_the_kernels_cannot_run(
    tokenizer: Tokenizer, facts: dict[str, Any], reason: str
) -> None:
    own = tokenizer._model.device_tables()
    check_support(own, "here")
    with pytest.raises(DeviceError, match=r"^here: ") as caught:
        check_support({**own, **facts}, "here")
    assert caught.value.reason == reason
