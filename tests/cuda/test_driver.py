"""The driver's functions by address, from a library that stands in for it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tokenmill import DeviceError
from tokenmill._cuda.driver import _NAMES, driver_calls

if TYPE_CHECKING:
    from pathlib import Path


def library(folder: Path, context: int, names: list[str]) -> str:
    """Compile functions that return the length of their name."""
    compiler = shutil.which("g++")
    assert compiler
    source = folder / "driver.cpp"
    texts = [f'extern "C" int {name}() {{ return {len(name)}; }}' for name in names]
    current = f"*context = reinterpret_cast<void*>({context}); return 0;"
    texts.append(f'extern "C" int cuCtxGetCurrent(void** context) {{ {current} }}')
    source.write_text("\n".join(texts))
    made = folder / f"driver{context}{len(names)}.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(made)], check=True)  # noqa: S603
    return str(made)


def test_every_function_has_its_own_address(tmp_path: Path) -> None:
    found = driver_calls(library(tmp_path, 77, list(_NAMES.values())))
    assert found.pop("context") == 77
    for name, address in found.items():
        assert ctypes.CFUNCTYPE(ctypes.c_int)(address)() == len(_NAMES[name])


def test_a_driver_that_lacks_something(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="driver") as raised:
        driver_calls(str(tmp_path / "nothing.so"))
    assert raised.value.reason == "no_driver"
    with pytest.raises(DeviceError) as raised:
        driver_calls(library(tmp_path, 77, list(_NAMES.values())[1:]))
    assert raised.value.reason == "no_driver"
    with pytest.raises(DeviceError) as raised:
        driver_calls(library(tmp_path, 0, list(_NAMES.values())))
    assert raised.value.reason == "device_failed"
