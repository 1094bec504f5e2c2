"""Reasons why a device does not do the work: their words, the shared enums, the kernel text."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from tokenmill import DeviceError
from tokenmill._cuda.layout import ENUMS, DocumentFlag, shared_text
from tokenmill._cuda.reasons import DOCUMENT, WHOLE, device_error, reason_of
from tokenmill._cuda.ring import SLOTS
from tokenmill._cuda.source import KERNELS, header_folder, kernel_text
from tokenmill.cuda import REASONS

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench


def test_every_reason_has_a_text_and_a_hint() -> None:
    for text in (*WHOLE.values(), *DOCUMENT.values()):
        assert text.what
        assert text.hint
    assert set(REASONS) == {*WHOLE, *DOCUMENT}


def test_the_guide_names_every_reason() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "gpu.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE) == [*WHOLE, *DOCUMENT]


def test_flags_name_reasons() -> None:
    assert {str(flag.name).lower() for flag in DocumentFlag} < set(DOCUMENT)
    assert reason_of(4 | 8) == "added_token"
    with pytest.raises(ValueError, match="0x40"):
        reason_of(64)


def test_enums_are_written_for_the_kernels() -> None:
    text = shared_text()
    for enum, line in (
        ("DocumentFlag", "kInvalidUtf8 = 1"), ("DocumentFlag", "kNoSync = 16"),
        ("BatchOption", "kKeepRepeats = 4"), ("BatchCounter", "kIdCount = 12"),
        ("RowOption", "kShiftedLabels = 2"),
    ):  # fmt: skip
        body = text[text.index(f"enum {enum} : u32 {{") :]
        assert line in body[: body.index("}")]
    for enum_type in ENUMS:
        assert text.count(f"enum {enum_type.__name__} ") == 1


def test_kernels_do_not_repeat_a_number_of_the_shared_enums() -> None:
    shared = re.findall(r"\bk\w+(?= = \d)", shared_text())
    for path in sorted(KERNELS.iterdir()):
        written = re.findall(r"\b(k\w+) = \d+", path.read_text())
        assert set(written).isdisjoint(shared), path.name


def test_an_error_keeps_its_reason_over_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(device_error("no_cupy", "detail", "here")))  # noqa: S301
    assert isinstance(error, DeviceError)
    assert error.reason == "no_cupy"
    assert str(error).startswith("here: the package cupy is not installed (detail); hint: pip ")


def test_the_text_of_the_kernels_needs_no_include_folder() -> None:
    text = kernel_text()
    assert re.findall(r'#\s*include "([^"]+)"', text) == ["shim.h"]  # of the host build alone
    for name in ("bounds_masks", "look_up", "emit_ids", "splice_ids", "struct Tables {"):
        assert name in text
    assert text.count("struct Batch {") == 1
    assert (header_folder() / "base" / "hash.h").is_file()


def test_too_little_memory_is_a_reason(plain: Bench) -> None:
    with pytest.raises(DeviceError, match="too little") as caught:
        plain.gpu(max_memory=1000)
    assert caught.value.reason == "out_of_memory"
    # With room for small batches alone, long documents go to the CPU.
    enough = plain.gpu().encoder.engine.memory_for(1 << 20, 1 + SLOTS)
    gpu = plain.gpu(max_memory=enough)
    texts = ["hello", "hello world " * 100_000]
    for output in ("device", "host"):
        found = gpu.encode_batch(texts, output=cast("Any", output))
        assert found.fallbacks == {"long_document": 1}
        assert found.to_host() == plain.tokenizer.encode_batch(texts)
