"""What the tests of every model on a device do in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.cuda.devices import connect
from tests.cuda.test_compile import compile_by_nvrtc, nvrtc

from tokenmill import DeviceError
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions
from tokenmill._cuda.source import kernel_text
from tokenmill._cuda.support import check_support
from tokenmill._cuda.tables import defines

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer


def on_device(
    tokenizer: Tokenizer, folder: Path, *, tile: int = 8192, **options: Any
) -> DeviceTokenizer:
    """Put a tokenizer on the simulated device, with a small table and blocks in any order."""
    how = DeviceOptions(**{"table_bits": 12, **options})
    return DeviceTokenizer(tokenizer.ready, 0, how, connect=connect(folder, shuffle=7), tile=tile)


def assert_refused(tokenizer: Tokenizer, changes: dict[str, Any], reason: str) -> None:
    """The kernels run the tokenizer, but not with these facts."""
    facts = tokenizer._model.device_tables()
    check_support(facts, "here")
    with pytest.raises(DeviceError) as caught:
        check_support({**facts, **changes}, "here")
    assert caught.value.reason == reason


def assert_nvrtc_takes(tokenizer: Tokenizer) -> None:
    """The device compiler accepts the kernels with the constants of the tokenizer."""
    macros = [
        f"-D{name}={value}" for name, value in defines(tokenizer._model.device_tables()).items()
    ]
    options = ["--std=c++17", "--gpu-architecture=sm_90", *macros]
    assert compile_by_nvrtc(nvrtc(), kernel_text(), options) == ""
